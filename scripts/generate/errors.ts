// From x-error-codes to what follows of it: the values of the field that holds the code of an error.
type Json = any

/** One code of errors, as the spec describes it. */
export interface DeclaredCode {
  code: string
  status: number[]
  means: string
  when: string
  do: string
  retry: 'no' | 'later' | 'renewed'
  reserved: boolean
}

/** A schema with `x-error-code` has the declared codes as its enum. Changes `document`. */
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
