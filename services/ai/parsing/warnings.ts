// What could not be read of a document that is otherwise readable, as API users see it.

export type WarningCode =
  | 'unreadable_font'
  | 'unreadable_page'
  | 'image_without_text'
  | 'uncertain_charset'
  | 'invalid_characters'
  | 'skipped_part'

export interface DocumentWarning {
  code: WarningCode
  /** The pages that the warning concerns, from 1; null for a document without pages. */
  pages: number[] | null
}

const messages: Record<WarningCode, string> = {
  unreadable_font: 'Some text uses a font whose characters are unknown, and was left out.',
  unreadable_page: 'Some pages are damaged.',
  image_without_text:
    'Some pages are images without text. Text in images, such as scanned pages, is not recognized.',
  uncertain_charset: 'The document declares no charset, and several fit its bytes.',
  invalid_characters: 'Some bytes are no characters of the charset.',
  skipped_part: 'A part of the document could not be read, and was left out.',
}

export const warningCodes = Object.keys(messages) as WarningCode[]

/** How many pages of a warning are listed. */
export const maxWarningPages = 100

export function messageOfWarning(code: WarningCode): string {
  return messages[code]
}
