// Fills the enum of error codes from x-error-codes.
type Json = any

/** An error code of the spec. */
export interface DeclaredCode {
  code: string
  status: number[]
  means: string
  when: string
  do: string
  retry: 'no' | 'later' | 'renewed'
  /** The values of `details.constraint` and their meanings. */
  constraints?: Record<string, string>
  reserved: boolean
}

/** Gives a schema with `x-error-code` the declared codes as its enum. Changes `document`. */
export function addErrorCodes(document: Json): DeclaredCode[] {
  const declared = Object.entries<Json>(document['x-error-codes'] ?? {}).map(([code, said]) => ({
    code,
    reserved: false,
    ...said,
  }))
  fill(
    [document.paths, document.components],
    declared.map(({ code }) => code),
  )
  return declared
}

function fill(node: Json, codes: string[]): void {
  if (typeof node !== 'object' || node === null) return
  if (node['x-error-code'] === true) {
    node.enum = codes
    delete node['x-error-code']
  }
  for (const value of Object.values(node)) fill(value, codes)
}
