// Why a document cannot be read, in words for who uploaded it: nothing here tells of the inside.

export type ReadingErrorCode =
  'unsupported' | 'encrypted' | 'damaged' | 'empty' | 'too_large' | 'too_slow' | 'too_much_memory'

const messages: Record<ReadingErrorCode, string> = {
  unsupported:
    'This is no kind of document that can be read: text, Markdown, HTML, CSV, JSON, PDF and DOCX can.',
  encrypted: 'The document is protected by a password.',
  damaged: 'The document is damaged.',
  empty: 'The document has no text. Pictures of text, such as scanned pages, are not read.',
  too_large: 'The document has more than can be read.',
  too_slow: 'Reading the document takes too long.',
  too_much_memory: 'Reading the document takes too much memory.',
}

export const readingErrorCodes = Object.keys(messages) as ReadingErrorCode[]

/** The document is at fault: the same bytes fail again. */
export class ReadingError extends Error {
  code: ReadingErrorCode

  constructor(code: ReadingErrorCode) {
    super(messages[code])
    this.name = 'ReadingError'
    this.code = code
  }
}
