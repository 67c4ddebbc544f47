// Finds fields of request bodies that no code of the server reads. A client would send them for nothing. A
// value that is passed to a generic function, spread, or assigned to a type without named fields counts as
// read, if the name of the field occurs anywhere in the code or as a parameter of a statement.
import { existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import ts from 'typescript'
import { createSpecLocator } from '../changes/spec-locator.ts'

/** The folders with the code of the server. */
const folders = ['handlers', 'services', 'app', 'infra']

/** The requests whose fields the statements of x-crud store. */
function schemasOfResources(folder: string): Set<string> {
  const file = join(folder, 'generated/resources.ts')
  const text = existsSync(file) ? readFileSync(file, 'utf8') : ''
  const names = [...text.matchAll(/^ {2}(\w+): \{$/gm)].map(([, name]) => name)
  return new Set(names.flatMap((name) => [`${name}Create`, `${name}Update`]))
}

interface Field {
  schema: string
  name: string
  operation: string
}

/** @returns a line for each field: `file:line:column message`. Empty for a folder without a contract. */
export function unreadFields(folder: string, program: ts.Program): string[] {
  const contract = join(folder, 'generated/openapi.json')
  const types = program.getSourceFile(join(folder, 'generated/types.ts'))
  if (!existsSync(contract) || types === undefined) return []
  const document = JSON.parse(readFileSync(contract, 'utf8'))
  const schemas = document.components?.schemas ?? {}
  // The HTTP layer reads the file of a form.
  const isFile = (property: any): boolean =>
    (property?.$ref === undefined ? property : schemas[property.$ref.split('/').at(-1)])?.format === 'binary'
  const fields = fieldsOf(document, types)
  const files = program
    .getSourceFiles()
    .filter(({ fileName }) => folders.includes(relative(folder, fileName).split(/[/\\]/)[0]))
  const { read, passed } = usesOf(program.getTypeChecker(), files, fields)
  const statements = program
    .getSourceFiles()
    .filter(({ fileName }) => relative(folder, fileName).startsWith(join('generated', 'sql')))
  const names = new Set(
    [...files, ...statements].flatMap(({ text }) => text.match(/[A-Za-z_$][\w$]*/g) ?? []),
  )

  const stored = schemasOfResources(folder)
  const locate = createSpecLocator((file) =>
    existsSync(join(folder, file)) ? readFileSync(join(folder, file), 'utf8') : null,
  )
  return [...fields].flatMap(([declaration, { schema, name, operation }]) => {
    const property = schemas[schema]?.properties?.[name]
    if (read.has(declaration) || isFile(property) || property?.['x-ignored'] === true) return []
    if (stored.has(schema)) return []
    if (passed.has(declaration) && (names.has(name) || names.has(inCamelCase(name)))) return []
    const { file, line } = locate(`/components/schemas/${schema}/properties/${name}`)
    const text = readFileSync(join(folder, file), 'utf8').split('\n')[line - 1] ?? ''
    const column = Math.max(text.indexOf(name), 0) + 1
    return [
      `${file}:${line}:${column} no code reads the field \`${name}\` of ${schema} (${operation}): ` +
        `read it in the handler, or remove it\n    ${text.trim()}`,
    ]
  })
}

function inCamelCase(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase())
}

/** The fields of the bodies that are components, by their declaration in generated/types.ts. */
function fieldsOf(contract: any, types: ts.SourceFile): Map<ts.Node, Field> {
  const bodies = new Map<string, string>()
  /** A component, and its alternatives that are components. */
  const addBody = (schema: any, operation: string): void => {
    const name = schema?.$ref?.split('/').at(-1)
    if (name === undefined || bodies.has(name)) return
    bodies.set(name, operation)
    for (const alternative of contract.components?.schemas?.[name]?.oneOf ?? [])
      addBody(alternative, operation)
  }
  for (const item of Object.values<any>(contract.paths))
    for (const operation of Object.values<any>(item))
      for (const { schema } of Object.values<any>(operation?.requestBody?.content ?? {}))
        addBody(schema, operation.operationId)
  const fields = new Map<ts.Node, Field>()
  const add = (schema: string, node: ts.Node): void => {
    if (ts.isPropertySignature(node) && (ts.isIdentifier(node.name) || ts.isStringLiteral(node.name)))
      fields.set(node, { schema, name: node.name.text, operation: bodies.get(schema)! })
    else if (ts.isTypeLiteralNode(node) || ts.isInterfaceDeclaration(node))
      for (const member of node.members) add(schema, member)
    else if (ts.isIntersectionTypeNode(node) || ts.isUnionTypeNode(node))
      for (const part of node.types) add(schema, part)
    else if (ts.isParenthesizedTypeNode(node)) add(schema, node.type)
  }
  for (const node of types.statements) {
    if (ts.isInterfaceDeclaration(node) && bodies.has(node.name.text)) add(node.name.text, node)
    if (ts.isTypeAliasDeclaration(node) && bodies.has(node.name.text)) add(node.name.text, node.type)
  }
  return fields
}

/** The declarations that are read by name, and those that are passed on as a whole. */
function usesOf(
  checker: ts.TypeChecker,
  files: ts.SourceFile[],
  fields: Map<ts.Node, Field>,
): { read: Set<ts.Node>; passed: Set<ts.Node> } {
  const read = new Set<ts.Node>()
  const passed = new Set<ts.Node>()
  const mark = (symbol: ts.Symbol | undefined, into: Set<ts.Node>): void => {
    for (const declaration of symbol?.declarations ?? []) if (fields.has(declaration)) into.add(declaration)
  }
  /** A union or an intersection has the fields of all its parts. */
  const propertiesOf = (type: ts.Type): ts.Symbol[] =>
    type.isUnion() ? type.types.flatMap(propertiesOf) : checker.getPropertiesOfType(type)
  const holdsFields = (type: ts.Type): boolean =>
    propertiesOf(type).some(({ declarations }) => declarations?.some((node) => fields.has(node)))
  const markAll = (type: ts.Type): void => {
    for (const symbol of propertiesOf(type)) {
      mark(symbol, passed)
      // A whole request.
      if (symbol.name === 'body') markAll(checker.getTypeOfSymbol(symbol))
    }
  }

  /** Follows an expression that is passed on as a whole. */
  const pass = (node: ts.Expression): void => {
    const type = checker.getTypeAtLocation(node)
    const isRequest = checker.getPropertyOfType(type, 'body') !== undefined
    if (!holdsFields(type) && !isRequest) return
    const wanted = checker.getContextualType(node)
    const { parent } = node
    const call = ts.isCallExpression(parent) || ts.isNewExpression(parent) ? parent : undefined
    const isGeneric =
      call !== undefined &&
      (checker.getResolvedSignature(call)?.getDeclaration()?.typeParameters?.length ?? 0) > 0
    const named = wanted === undefined ? [] : propertiesOf(wanted)
    if (isGeneric || ts.isSpreadAssignment(parent) || (wanted !== undefined && named.length === 0))
      return markAll(type)
    for (const symbol of propertiesOf(type)) {
      const target = named.find(({ name }) => name === symbol.name)
      // Another type reads what it names. The same field is followed to where it is read.
      const isSame = target?.declarations?.some((each) => symbol.declarations?.includes(each)) === true
      if (target !== undefined && !isSame) mark(symbol, read)
    }
  }

  const visit = (node: ts.Node): void => {
    if (ts.isPropertyAccessExpression(node)) mark(checker.getSymbolAtLocation(node.name), read)
    if (ts.isElementAccessExpression(node)) {
      const key = node.argumentExpression
      if (ts.isStringLiteral(key))
        mark(checker.getPropertyOfType(checker.getTypeAtLocation(node.expression), key.text), read)
      else markAll(checker.getTypeAtLocation(node.expression))
    }
    if (ts.isObjectBindingPattern(node)) {
      const type = checker.getTypeAtLocation(node)
      for (const { propertyName, name, dotDotDotToken } of node.elements) {
        const key = propertyName ?? name
        if (dotDotDotToken !== undefined) markAll(type)
        else if (ts.isIdentifier(key) || ts.isStringLiteral(key))
          for (const symbol of propertiesOf(type)) if (symbol.name === key.text) mark(symbol, read)
      }
    }
    if ((ts.isIdentifier(node) || ts.isPropertyAccessExpression(node)) && isPassed(node)) pass(node)
    ts.forEachChild(node, visit)
  }
  for (const file of files) visit(file)
  return { read, passed }
}

/** Whether the value of the expression goes elsewhere: as an argument, part of a value, or result. */
function isPassed(node: ts.Expression): boolean {
  const { parent } = node
  if (ts.isCallExpression(parent) || ts.isNewExpression(parent))
    return parent.arguments?.includes(node) === true
  if (ts.isPropertyAssignment(parent) || ts.isVariableDeclaration(parent)) return parent.initializer === node
  if (ts.isBinaryExpression(parent)) return parent.right === node
  return (
    ts.isSpreadAssignment(parent) ||
    ts.isShorthandPropertyAssignment(parent) ||
    ts.isArrayLiteralExpression(parent) ||
    ts.isReturnStatement(parent) ||
    ts.isArrowFunction(parent) ||
    ts.isConditionalExpression(parent) ||
    ts.isAsExpression(parent) ||
    ts.isForInStatement(parent)
  )
}
