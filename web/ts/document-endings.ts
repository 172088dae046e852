/** The endings of documents that `wordloom/documents` reads, without dots. */
export const DOCUMENT_ENDINGS: readonly string[] = [
  'txt', 'md', 'markdown', 'html', 'htm', 'xhtml', 'xml', 'srt', 'vtt', 'po', 'pot', 'xliff', 'xlf', 'json', 'arb',
  'strings', 'csv', 'tsv', 'docx', 'pptx', 'odt', 'odp', 'epub',
];
