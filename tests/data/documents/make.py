"""Writes the office documents beside this file, with the libraries that others use.

    python3 -m venv venv && venv/bin/pip install python-docx==1.2.0 python-pptx==1.0.2 ebooklib==0.20 odfpy==1.4.1
    venv/bin/python make.py
"""

import datetime
from pathlib import Path

from docx import Document
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.oxml import OxmlElement
from docx.oxml.ns import qn
from ebooklib import epub
from odf import text as odf_text
from odf.opendocument import OpenDocumentText
from odf.style import Style, TextProperties
from pptx import Presentation

HERE = Path(__file__).parent
DAY = datetime.datetime(2026, 1, 1)


def docx():
    document = Document()
    document.core_properties.created = document.core_properties.modified = DAY
    document.add_heading("The house by the river", level=1)
    paragraph = document.add_paragraph("I saw ")
    paragraph.add_run("red boats").bold = True
    paragraph.add_run(" on the river and ")
    paragraph.add_run("two men").italic = True
    paragraph.add_run(" in the garden.")
    paragraph = document.add_paragraph("Please write to ")
    link = OxmlElement("w:hyperlink")
    link.set(qn("r:id"), document.part.relate_to("https://a.example", RELATIONSHIP_TYPE.HYPERLINK, is_external=True))
    run = OxmlElement("w:r")
    run.append(OxmlElement("w:rPr"))
    run[0].append(OxmlElement("w:u"))
    word = OxmlElement("w:t")
    word.text = "our office"
    run.append(word)
    link.append(run)
    paragraph._p.append(link)
    paragraph.add_run(" or to me@mail.example.org.")
    paragraph = document.add_paragraph("First line")
    paragraph.add_run().add_break()
    paragraph.add_run("Second line\tafter a tab")
    document.add_paragraph("An item", style="List Bullet")
    table = document.add_table(rows=1, cols=2)
    table.cell(0, 0).text = "Tom & Anna"
    table.cell(0, 1).text = "12:30"
    document.sections[0].header.paragraphs[0].text = "A letter"
    document.add_comment(paragraph.runs[0], text="This comment stays.", author="x")
    document.save(HERE / "letter.docx")


def pptx():
    presentation = Presentation()
    presentation.core_properties.created = presentation.core_properties.modified = DAY
    slide = presentation.slides.add_slide(presentation.slide_layouts[1])
    slide.shapes.title.text = "A small house"
    frame = slide.placeholders[1].text_frame
    frame.text = "I saw "
    run = frame.paragraphs[0].add_run()
    run.text = "red boats"
    run.font.bold = True
    frame.paragraphs[0].add_run().text = " on the river."
    paragraph = frame.add_paragraph()
    paragraph.text = "First line\vSecond line"
    slide.notes_slide.notes_text_frame.text = "Say this slowly."
    presentation.save(HERE / "slides.pptx")


def odt():
    document = OpenDocumentText()
    bold = Style(name="Bold", family="text")
    bold.addElement(TextProperties(fontweight="bold"))
    document.automaticstyles.addElement(bold)
    document.text.addElement(odf_text.H(outlinelevel=1, text="The house by the river"))
    paragraph = odf_text.P(text="I saw ")
    paragraph.addElement(odf_text.Span(stylename=bold, text="red boats"))
    paragraph.addText(" on the river")
    note = odf_text.Note(noteclass="footnote", id="n1")
    note.addElement(odf_text.NoteCitation(text="1"))
    body = odf_text.NoteBody()
    body.addElement(odf_text.P(text="It is a long river."))
    note.addElement(body)
    paragraph.addElement(note)
    paragraph.addText(".")
    document.text.addElement(paragraph)
    paragraph = odf_text.P(text="First line")
    paragraph.addElement(odf_text.LineBreak())
    paragraph.addText("Second line")
    document.text.addElement(paragraph)
    document.save(HERE / "letter.odt")


def book():
    book = epub.EpubBook()
    book.set_identifier("wordloom-sample")
    book.set_title("The house by the river")
    book.set_language("en")
    chapter = epub.EpubHtml(title="The first day", file_name="first.xhtml", lang="en")
    chapter.content = (
        "<h1>The first day</h1><p>I saw <b>red boats</b> on the river.</p>"
        "<p>Tom &amp; Anna<br/>were <i>there</i>.</p><pre>kept text</pre>"
    )
    book.add_item(chapter)
    book.toc = (chapter,)
    book.add_item(epub.EpubNcx())
    book.add_item(epub.EpubNav())
    book.spine = ["nav", chapter]
    epub.write_epub(HERE / "book.epub", book)


for write in (docx, pptx, odt, book):
    write()
