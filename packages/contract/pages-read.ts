// The options and the result of reading a list.
import type { Json } from '@platform-api/openapi/document.ts'
import type { Answer } from './sender.ts'

export interface PagesRead {
  items: Json[]
  /** The ids of the items as text. */
  ids: Array<string | null>
  total: number
  /** Whether all pages were read. */
  whole: boolean
  last: Answer
}

export interface PageOptions {
  path: Record<string, string>
  query?: Record<string, string>
  limit?: number
  maxPages: number
  /** Stops at the page with this id. */
  until?: string
  key?: string | null
}
