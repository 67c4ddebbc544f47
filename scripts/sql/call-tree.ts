// The functions that an operation's handler can reach, down to the statements of prisma/sql and the calls of
// Prisma's models. Read from the program by the compiler: a branch counts even if a request does not take it.
import { existsSync, readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import ts from 'typescript'

export interface Call {
  /** The function, the file of prisma/sql, or `prisma.model.method`. */
  name: string
  /** `file:line` of a function; null for a leaf. */
  place: string | null
  calls: Call[]
}

/** @returns null if no handler has the name. */
export function callTree(root: string, operation: string, program = programOf(root)): Call | null {
  const handler = handlerOf(root, program, operation)
  return handler === undefined
    ? callTreeOfResource(root, program, operation)
    : new Walk(root, program).call(operation, handler)
}

export function programOf(root: string): ts.Program {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, root)
  const files = ['handlers', 'services'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('.ts'))
      .map((name) => join(root, folder, name)),
  )
  return ts.createProgram(files, options)
}

/** The handler of the operation in handlers/; undefined for one that x-crud makes. */
export function handlerOf(root: string, program: ts.Program, operation: string): ts.Node | undefined {
  for (const name of readdirSync(join(root, 'handlers'))) {
    const source = program.getSourceFile(join(root, 'handlers', name))
    const handler = source === undefined ? undefined : memberNamed(source, operation)
    if (handler !== undefined) return handler
  }
  return undefined
}

/** The handler and every function of handlers/ and services/ that it can reach. */
export function reachedFrom(root: string, program: ts.Program, handler: ts.Node): ts.Node[] {
  const walk = new Walk(root, program)
  walk.call('', handler)
  return walk.reached
}

/** The tree of a default handler of services/resources.ts. */
function callTreeOfResource(
  root: string,
  program: ts.Program,
  operation: string,
  seen = new Set<ts.Node>(),
): Call | null {
  const source = program.getSourceFile(join(root, 'services/resources.ts'))
  const resources = program.getSourceFile(join(root, 'generated/resources.ts'))
  const blocks = resources?.text.match(/^ {2}\w+: \{\n[^}]*\}/gm) ?? []
  const block = blocks.find((text) => text.includes(`: '${operation}'`))
  const name = /list: 'list(\w+)'/.exec(block ?? '')?.[1]
  if (source === undefined || name === undefined) return null
  const table = name.replace(/(?<=.)([A-Z])/g, '_$1').toLowerCase()
  const handler = memberNamed(source, /^[a-z]+/.exec(operation)![0])
  if (handler === undefined) return null
  const walk = new Walk(root, program, { table, seen })
  const tree = walk.call(operation, handler)
  const hooks = hooksOf(root, program, /^ {2}(\w+)/.exec(block!)![1]).map((each) => walk.call('', each))
  return { ...tree, calls: [...tree.calls, ...hooks.flatMap(({ calls }) => calls)] }
}

/** The options of the default handlers of a resource, in handlers/. */
function hooksOf(root: string, program: ts.Program, schema: string): ts.Node[] {
  const search = (node: ts.Node): ts.Node[] => {
    if (isDefaults(node) && node.arguments[0].getText() === `'${schema}'`) return node.arguments.slice(2)
    return node.getChildren().flatMap(search)
  }
  return readdirSync(join(root, 'handlers')).flatMap((name) => {
    const source = program.getSourceFile(join(root, 'handlers', name))
    return source === undefined ? [] : search(source)
  })
}

/** Whether the node makes the default handlers of a resource. */
function isDefaults(node: ts.Node | undefined): node is ts.CallExpression {
  return node !== undefined && ts.isCallExpression(node) && node.expression.getText() === 'resourceHandlers'
}

function memberNamed(source: ts.SourceFile, name: string): ts.Node | undefined {
  const search = (node: ts.Node): ts.Node | undefined =>
    (ts.isMethodDeclaration(node) || ts.isPropertyAssignment(node)) && node.name.getText(source) === name
      ? node
      : ts.forEachChild(node, search)
  return search(source)
}

/** The methods of each program by name, which all walks share. */
const methods = new WeakMap<ts.Program, Map<string, ts.MethodDeclaration[]>>()

class Walk {
  #root: string
  #program: ts.Program
  #checker: ts.TypeChecker
  /** Each function appears once in the tree, where it is reached first. */
  #seen: Set<ts.Node>
  #methods: Map<string, ts.MethodDeclaration[]>
  /** The table of a resource whose statements the default handlers run. */
  #table: string | null

  constructor(
    root: string,
    program: ts.Program,
    { table = null as string | null, seen = new Set<ts.Node>() } = {},
  ) {
    this.#root = root
    this.#table = table
    this.#seen = seen
    this.#program = program
    this.#checker = program.getTypeChecker()
    this.#methods = methods.get(program) ?? this.#methodsByName()
    methods.set(program, this.#methods)
  }

  /** The functions that the calls so far have reached. */
  get reached(): ts.Node[] {
    return [...this.#seen]
  }

  call(name: string, node: ts.Node): Call {
    this.#seen.add(node)
    const calls: Call[] = []
    const add = (call: Call): void => {
      if (!calls.some((other) => other.name === call.name && other.place === call.place)) calls.push(call)
    }
    const visit = (child: ts.Node): void => {
      if (ts.isIdentifier(child)) for (const found of this.#reached(child)) add(found)
      ts.forEachChild(child, visit)
    }
    ts.forEachChild(node, visit)
    return { name, place: this.#place(node), calls }
  }

  /** The calls that lead to SQL through the name. */
  #reached(name: ts.Identifier): Call[] {
    const model = prismaCall(name)
    if (model !== null) return [leaf(model)]
    return this.#declarations(name).flatMap((declaration) => {
      // A handler that calls a default one.
      if (ts.isVariableDeclaration(declaration) && isDefaults(declaration.initializer)) {
        const { parent } = name
        if (!ts.isPropertyAccessExpression(parent)) return []
        return callTreeOfResource(this.#root, this.#program, parent.name.text, this.#seen) ?? []
      }
      const file = relative(this.#root, declaration.getSourceFile().fileName)
      if (file === 'services/resources.ts' && ts.isMethodSignature(declaration))
        return [leaf(this.#fileOf(`${this.#table}/${name.text}`))]
      if (file.startsWith('generated/sql/'))
        return labelOf(declaration).map((label) => leaf(this.#fileOf(label)))
      if (!this.#isServed(file) || !hasBody(declaration) || this.#isSeen(declaration)) return []
      const call = this.call(name.text, declaration)
      return call.calls.length === 0 ? [] : [call]
    })
  }

  /** The declarations of a name. For a method of an interface: its implementations. */
  #declarations(name: ts.Identifier): ts.Node[] {
    let symbol = this.#checker.getSymbolAtLocation(name)
    if (ts.isShorthandPropertyAssignment(name.parent))
      symbol = this.#checker.getShorthandAssignmentValueSymbol(name.parent)
    if (symbol === undefined) return []
    if (symbol.flags & ts.SymbolFlags.Alias) symbol = this.#checker.getAliasedSymbol(symbol)
    return (symbol.declarations ?? []).flatMap((declaration) =>
      ts.isMethodSignature(declaration) && !isStatement(declaration)
        ? this.#implementations(declaration)
        : [declaration],
    )
  }

  /** The methods of object literals and classes that have the type of the interface. */
  #implementations(signature: ts.MethodSignature): ts.Node[] {
    const type = signature.parent
    const candidates = this.#methods.get(signature.name.getText()) ?? []
    return candidates.filter(({ parent }) =>
      ts.isObjectLiteralExpression(parent)
        ? (this.#checker.getContextualType(parent)?.symbol?.declarations ?? []).includes(type as never)
        : (parent as ts.ClassDeclaration).heritageClauses?.some(({ types }) =>
            types.some((each) =>
              this.#checker.getTypeAtLocation(each).symbol.declarations?.includes(type as never),
            ),
          ),
    )
  }

  #methodsByName(): Map<string, ts.MethodDeclaration[]> {
    const found: ts.MethodDeclaration[] = []
    const visit = (node: ts.Node): void => {
      if (ts.isMethodDeclaration(node)) found.push(node)
      ts.forEachChild(node, visit)
    }
    for (const source of this.#program.getSourceFiles())
      if (this.#isServed(relative(this.#root, source.fileName))) visit(source)
    return Map.groupBy(found, ({ name }) => name.getText())
  }

  #isServed(file: string): boolean {
    return /^(handlers|services)\//.test(file)
  }

  /** Whether the tree contains the node, alone or within a function. */
  #isSeen(node: ts.Node): boolean {
    return this.#seen.has(node) || (node.parent !== undefined && this.#isSeen(node.parent))
  }

  /** The file of a statement, by its domain and name. */
  #fileOf(label: string): string {
    const generated = `generated/resources/${label}.sql`
    return existsSync(join(this.#root, generated)) ? generated : `prisma/sql/${label}.sql`
  }

  #place(node: ts.Node): string {
    const source = node.getSourceFile()
    const { line } = source.getLineAndCharacterOfPosition(node.getStart())
    return `${relative(this.#root, source.fileName)}:${line + 1}`
  }
}

/** Whether the signature stands for a statement of a resource, in services/resources.ts. */
function isStatement({ parent }: ts.MethodSignature): boolean {
  return ts.isInterfaceDeclaration(parent) && parent.name.text === 'Statements'
}

function leaf(name: string): Call {
  return { name, place: null, calls: [] }
}

/** The domain and name of the statement, for the constant of a generated function. */
function labelOf(declaration: ts.Node): string[] {
  if (!ts.isVariableDeclaration(declaration) || declaration.initializer === undefined) return []
  if (!ts.isCallExpression(declaration.initializer)) return []
  const [label] = declaration.initializer.arguments
  return ts.isStringLiteral(label) ? [label.text] : []
}

/** `prisma.model.method` for the name of the method. */
function prismaCall({ text, parent }: ts.Identifier): string | null {
  if (!ts.isPropertyAccessExpression(parent) || parent.name.text !== text) return null
  const [, model] = /\bprisma\.(\w+)$/.exec(parent.expression.getText()) ?? []
  return model === undefined ? null : `prisma.${model}.${text}`
}

function hasBody(node: ts.Node): boolean {
  return (
    ts.isFunctionDeclaration(node) ||
    ts.isMethodDeclaration(node) ||
    ts.isPropertyAssignment(node) ||
    ts.isVariableDeclaration(node) ||
    ts.isClassDeclaration(node)
  )
}
