// Finds the handlers in the source of a module.
import ts from 'typescript'

/**
 * The names in the module's object of handlers, and the positions behind its opening and before its closing
 * brace; null if there is no such object.
 */
export function handlersIn(
  text: string,
  name: string,
): { present: string[]; start: number; end: number } | null {
  const source = ts.createSourceFile('handlers.ts', text, ts.ScriptTarget.Latest, true)
  let found: ts.ObjectLiteralExpression | undefined
  source.forEachChild((node) => {
    if (!ts.isVariableStatement(node)) return
    for (const declared of node.declarationList.declarations) {
      let value = declared.initializer
      while (value && (ts.isSatisfiesExpression(value) || ts.isAsExpression(value))) value = value.expression
      if (declared.name.getText(source) === name && value && ts.isObjectLiteralExpression(value))
        found = value
    }
  })
  if (!found) return null
  return {
    present: found.properties.map((p) => p.name?.getText(source) ?? '').filter(Boolean),
    start: found.getStart(source) + 1,
    end: found.getEnd() - 1,
  }
}

/** Says that the module has no object of handlers. */
export function noHandlers(file: string, name: string): string {
  return `${file} must export an object \`${name}\` with the handlers of its tag`
}
