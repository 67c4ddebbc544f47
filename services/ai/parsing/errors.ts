// Why a document cannot be read, in words for who uploaded it: nothing here tells of the inside.

export type ParsingErrorCode =
  'unsupported' | 'encrypted' | 'damaged' | 'empty' | 'too_large' | 'too_slow' | 'too_much_memory'

const messages: Record<ParsingErrorCode, string> = {
  unsupported:
    'This is no kind of document that can be read: text, Markdown, HTML, CSV, JSON, PDF and DOCX can.',
  encrypted: 'The document is protected by a password.',
  damaged: 'The document is damaged.',
  empty: 'The document has no text. Pictures of text, such as scanned pages, are not read.',
  too_large: 'The document has more than can be read.',
  too_slow: 'Reading the document takes too long.',
  too_much_memory: 'Reading the document takes too much memory.',
}

export const parsingErrorCodes = Object.keys(messages) as ParsingErrorCode[]

/** The document is at fault: the same bytes fail again. */
export class ParsingError extends Error {
  code: ParsingErrorCode

  constructor(code: ParsingErrorCode) {
    super(messages[code])
    this.name = 'ParsingError'
    this.code = code
  }
}
