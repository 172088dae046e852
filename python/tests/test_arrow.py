"""Arrow columns of pyarrow and polars, and of an object of neither."""

import subprocess

import pytest

from conftest import run_python
from wordloom import ArrowError

pyarrow = pytest.importorskip("pyarrow")

SENTENCES = ["Good morning!", None, "Where is the train station?", "", "I am tired."]
EXPECTED = ["Guten Morgen!", None, "Wo ist der Bahnhof?", "", "Ich bin müde."]


@pytest.mark.parametrize("kind", [pyarrow.string(), pyarrow.large_string(), pyarrow.string_view()])
def test_columns_keep_type_and_nulls(translator, kind):
    column = pyarrow.array(SENTENCES, kind)
    found = pyarrow.array(translator.translate_arrow(column))
    assert found.type == kind
    assert found.to_pylist() == EXPECTED
    found.validate(full=True)
    # a slice begins within its buffers
    assert pyarrow.array(translator.translate_arrow(column[2:4])).to_pylist() == EXPECTED[2:4]


def test_results_stay_valid_without_their_source(translator):
    result = translator.translate_arrow(pyarrow.array(SENTENCES))
    first, second = pyarrow.array(result), pyarrow.array(result)
    assert len(result) == 5 and result.to_pylist() == EXPECTED
    del result
    assert first.to_pylist() == second.to_pylist() == EXPECTED


def test_batches_keep_their_columns(translator):
    batch = pyarrow.record_batch({"id": list(range(5)), "text": SENTENCES})
    found = pyarrow.record_batch(translator.translate_arrow(batch, column="text", output="german"))
    assert found.schema.names == ["id", "text", "german"]
    assert found.column("id").to_pylist() == list(range(5))
    assert found.column("german").to_pylist() == EXPECTED
    # pyarrow turns a sliced batch's offset into its columns' offsets
    found = pyarrow.record_batch(translator.translate_arrow(batch.slice(2), column="text"))
    assert found.column("text").to_pylist() == SENTENCES[2:]
    assert found.column("translation").to_pylist() == EXPECTED[2:]


def test_tables_keep_their_chunks(translator):
    chunks = [SENTENCES[:2], [], SENTENCES[2:]]
    table = pyarrow.table({"text": pyarrow.chunked_array(chunks, pyarrow.string())})
    found = pyarrow.table(translator.translate_arrow(table, column="text"))
    assert found.column("translation").to_pylist() == EXPECTED
    assert [len(chunk) for chunk in found.column("text").chunks if len(chunk)] == [2, 3]
    column = translator.translate_arrow(table.column("text"))
    assert pyarrow.array(column).to_pylist() == EXPECTED
    empty = pyarrow.table({"text": pyarrow.array([], pyarrow.string())})
    assert pyarrow.table(translator.translate_arrow(empty, column="text")).schema.names == ["text", "translation"]


def test_series_and_frames_of_polars(translator):
    polars = pytest.importorskip("polars")
    found = polars.Series("german", translator.translate_arrow(polars.Series("text", SENTENCES)))
    assert found.to_list() == EXPECTED
    frame = polars.DataFrame({"id": list(range(5)), "text": SENTENCES})
    found = polars.DataFrame(translator.translate_arrow(frame, column="text"))
    assert found.columns == ["id", "text", "translation"]
    assert found["translation"].to_list() == EXPECTED


def test_wrong_columns_are_named(translator):
    batch = pyarrow.record_batch({"id": [1], "text": ["Hello!"]})
    with pytest.raises(ValueError, match="column=, one of: id, text"):
        translator.translate_arrow(batch)
    with pytest.raises(ValueError, match='"texts"; there are: id, text'):
        translator.translate_arrow(batch, column="texts")
    with pytest.raises(ValueError, match='column "id" already'):
        translator.translate_arrow(batch, column="text", output="id")
    with pytest.raises(ArrowError, match="Int64; cast it to string"):
        translator.translate_arrow(batch, column="id")
    with pytest.raises(ValueError, match="leave it out"):
        translator.translate_arrow(batch.column("text"), column="text")
    with pytest.raises(TypeError, match="list is no Arrow data"):
        translator.translate_arrow(["Hello!"])


def test_text_that_is_no_utf_8_is_refused(translator):
    offsets = pyarrow.py_buffer(b"\x00\x00\x00\x00\x02\x00\x00\x00")
    broken = pyarrow.Array.from_buffers(pyarrow.string(), 1, [None, offsets, pyarrow.py_buffer(b"\xff\xfe")])
    with pytest.raises(ArrowError, match="(?i)utf"):
        translator.translate_arrow(broken)


def test_a_capsule_is_taken_once(translator):
    class Once:
        def __init__(self, capsules):
            self.capsules = capsules

        def __arrow_c_array__(self, requested_schema=None):
            return self.capsules

    once = Once(pyarrow.array(["Hello!"]).__arrow_c_array__())
    assert translator.translate_arrow(once).to_pylist() == ["Hallo!"]
    with pytest.raises(ArrowError, match="taken already"):
        translator.translate_arrow(once)


def test_the_package_imports_no_library_of_arrow():
    code = "import sys, wordloom; wordloom.translate('Hello!'); print(sorted({'numpy', 'pyarrow', 'polars', 'pandas'} & set(sys.modules)))"
    done: subprocess.CompletedProcess = run_python(code)
    assert (done.stdout, done.returncode) == ("[]\n", 0), done.stderr


def test_null_structs_stay_null(translator):
    texts = pyarrow.array(["Good morning!", "I am tired."])
    rows = pyarrow.StructArray.from_arrays([texts], ["text"], mask=pyarrow.array([False, True]))
    found = pyarrow.array(translator.translate_arrow(rows, column="text"))
    assert found.to_pylist() == [{"text": "Good morning!", "translation": "Guten Morgen!"}, None]
    assert found.field("translation").to_pylist() == ["Guten Morgen!", None]
    # a table has no null rows, but null values
    found = pyarrow.table(translator.translate_arrow(pyarrow.chunked_array([rows, rows[:1]]), column="text"))
    found.validate(full=True)
    assert found.to_pydict() == {"text": ["Good morning!", None, "Good morning!"], "translation": ["Guten Morgen!", None, "Guten Morgen!"]}


def test_metadata_of_a_schema_stay(translator):
    field = pyarrow.field("text", pyarrow.string(), metadata={"language": "en"})
    schema = pyarrow.schema([field], metadata={"source": "a book"})
    table = pyarrow.table({"text": ["Good morning!"]}, schema=schema)
    for found in (
        pyarrow.table(translator.translate_arrow(table, column="text")),
        pyarrow.record_batch(translator.translate_arrow(table.to_batches()[0], column="text")),
    ):
        assert found.schema.metadata == {b"source": b"a book"}
        assert found.schema.field("text").metadata == {b"language": b"en"}


def test_a_series_keeps_its_name(translator):
    polars = pytest.importorskip("polars")
    series = polars.Series("english", ["Good morning!"])
    assert polars.Series(translator.translate_arrow(series)).name == "english"


def test_texts_may_come_from_pyarrow(translator):
    (array, chunked) = pyarrow.array(SENTENCES[2:3]), pyarrow.chunked_array([SENTENCES[:1], SENTENCES[2:3]])
    assert [found.text for found in translator.translate(array)] == EXPECTED[2:3]
    assert [found.text for found in translator.translate_iter(chunked)] == [EXPECTED[0], EXPECTED[2]]
    assert [found.text for found in translator.translate(translator.translate_arrow(array))]
    with pytest.raises(TypeError, match="text 1 is NoneType, not str; leave rows without text out, or call translate_arrow"):
        translator.translate(pyarrow.array(SENTENCES))
    with pytest.raises(TypeError, match="text is Table; pass one of its columns"):
        translator.translate(pyarrow.table({"text": array}))
    with pytest.raises(TypeError, match="output is NoneType; pass a str"):
        translator.translate_arrow(array, output=None)
