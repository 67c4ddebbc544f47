// ETag, If-None-Match and If-Match (RFC 9110, section 13). An ETag is a digest of the representation, so it
// is strong and needs no column.
import { hash } from 'node:crypto'

export function etagOf(representation: string | Uint8Array): string {
  return `"${hash('sha1', representation, 'base64url')}"`
}

/** Whether If-None-Match names this representation, by weak comparison. */
export function noneMatches(header: string | undefined, etag: string): boolean {
  return (
    header !== undefined &&
    (header.trim() === '*' || tagsOf(header).some((tag) => tag.replace(/^W\//, '') === etag))
  )
}

/** Whether If-Match allows a change of this representation, by strong comparison. */
export function matches(header: string, etag: string): boolean {
  return header.trim() === '*' || tagsOf(header).includes(etag)
}

function tagsOf(header: string): string[] {
  return header.match(/(?:W\/)?"[^"]*"/g) ?? []
}
