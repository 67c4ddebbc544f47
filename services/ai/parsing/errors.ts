// The reasons why a document cannot be parsed, as API users see them. The messages reveal no internals.
import { messageOfWarning, type DocumentWarning } from './warnings.ts'

export type ParsingErrorCode =
  'unsupported' | 'encrypted' | 'damaged' | 'empty' | 'too_large' | 'too_slow' | 'too_much_memory'

/** The types of documents, in words. */
export const supportedTypes =
  'plain text, Markdown, HTML, CSV, JSON, JSON lines,' +
  ' source code, PDF, DOCX, XLSX, PPTX, ODT, RTF, EPUB, EML ' +
  'and MSG'

const messages: Record<ParsingErrorCode, string> = {
  unsupported: `The file type is not supported. Supported types: ${supportedTypes}.`,
  encrypted: 'The document is password-protected.',
  damaged: 'The document is damaged.',
  empty: 'The document contains no text.',
  too_large: 'The document is too large.',
  too_slow: 'The document took too long to parse.',
  too_much_memory: 'The document needs too much memory to parse.',
}

export const parsingErrorCodes = Object.keys(messages) as ParsingErrorCode[]

/** The document itself cannot be parsed: another attempt with the same bytes fails again. */
export class ParsingError extends Error {
  code: ParsingErrorCode
  /** What could not be read: the cause, if the document has no other text. */
  warnings: DocumentWarning[]

  constructor(code: ParsingErrorCode, message = messages[code], warnings: DocumentWarning[] = []) {
    super([message, ...warnings.map((warning) => messageOfWarning(warning.code))].join(' '))
    this.name = 'ParsingError'
    this.code = code
    this.warnings = warnings
  }
}
