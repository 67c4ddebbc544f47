// Adds the security schemes of x-implied-security to the document, and to each operation that has another
// one.
import { declaredOperations, isSecured } from './implied-responses.ts'

/** Changes `document`. */
export function addImpliedSecurity(document: any): void {
  const schemes: Record<string, object> = document['x-implied-security'] ?? {}
  Object.assign((document.components.securitySchemes ??= {}), schemes)
  const alternatives = Object.keys(schemes).map((scheme) => ({ [scheme]: [] }))
  for (const declared of declaredOperations(document)) {
    if (!isSecured(declared)) continue
    const { operation } = declared
    operation.security = [...(operation.security ?? document.security), ...alternatives]
  }
}
