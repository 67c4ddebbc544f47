// Finds what the spec declares of an operation and its handler never does: a success status that it never
// answers, and in all functions that it can reach no use of If-Match, no check of the project's role, or no
// event of a write. That a function is reached does not prove that each request calls it: the tests do that.
import { existsSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import ts from 'typescript'
import { createSpecLocator } from '../changes/spec-locator.ts'
import { escaped } from '@platform-api/openapi/json-pointer.ts'
import { methods } from '@platform-api/openapi/methods.ts'
import { resolve } from '@platform-api/openapi/resolve.ts'
import { handlerOf, reachedFrom } from '../sql/call-tree.ts'

type Json = any

interface Duty {
  isDeclared(document: Json, operation: Json, method: string): boolean
  /** Functions or methods: a handler that does its duty reaches one of them. */
  reaches: string[]
  /** The missing part of the handler, and how to add it. */
  says: string
}

/** They change only the usage, or what they start emits an event at its end. */
const withoutEvent = [
  'createEmbeddings',
  'syncSource',
  'recordUsage',
  'voidUsage',
  'setProductFeatures',
  'setEntitlement',
  'deleteEntitlement',
  'deleteFileVersion',
  'signUploadParts',
]

const duties: Duty[] = [
  {
    isDeclared: (document, { parameters = [] }) =>
      parameters.some((parameter: Json) => resolve(document, parameter).name === 'If-Match'),
    reaches: ['ifMatch'],
    says: 'never compares If-Match, which the spec declares: call `request.ifMatch` with the locked row',
  },
  {
    isDeclared: (_document, operation) => operation['x-project-access'] !== undefined,
    reaches: ['requiredAccess'],
    says: 'never checks the role that `x-project-access` declares: begin with `openProject`',
  },
  {
    isDeclared: (_document, operation) => operation['x-organization-access'] !== undefined,
    reaches: ['requiredRole'],
    says: 'never checks the role that `x-organization-access` declares: begin with `openOrganization`',
  },
  {
    isDeclared: (_document, operation) => operation['x-organization-sellers'] !== undefined,
    reaches: ['requireSeller'],
    says: 'never checks who sells, which `x-organization-sellers` declares: call `requireSeller`',
  },
  {
    isDeclared: (_document, { security = [], operationId }, method) =>
      method !== 'get' &&
      !withoutEvent.includes(operationId) &&
      Object.values<string[]>(security[0] ?? {}).some((scopes) => scopes.some(isOfWrites)),
    reaches: ['emit', 'emitAll'],
    says: 'writes, but never emits an event: emit it in the transaction of the change',
  },
]

/** A POST with a scope such as `knowledge:read` only reads. */
function isOfWrites(scope: string): boolean {
  return !scope.endsWith(':read')
}

/** @returns a line for each problem: `file:line:column message`. Empty for a folder without a contract. */
export function unkeptDeclarations(folder: string, program: ts.Program): string[] {
  const contract = join(folder, 'generated/openapi.json')
  if (!existsSync(contract) || !existsSync(join(folder, 'handlers'))) return []
  const document = JSON.parse(readFileSync(contract, 'utf8'))
  const locate = createSpecLocator((file) =>
    existsSync(join(folder, file)) ? readFileSync(join(folder, file), 'utf8') : null,
  )
  return Object.entries<Json>(document.paths).flatMap(([path, item]) =>
    methods.flatMap((method) => {
      const operation = item[method]
      const handler = operation === undefined ? undefined : handlerOf(folder, program, operation.operationId)
      if (handler === undefined) return []
      const statuses = unansweredStatuses(program.getTypeChecker(), handler, operation).map((status) => {
        const { file, line } = locate(`/paths/${escaped(path)}/${method}/responses/${status}`)
        const says = `never answers ${status}: answer it in the handler, or remove it`
        return `${file}:${line}:1 ${operation.operationId} ${says}`
      })
      return [...statuses, ...neglected(folder, program, { document, operation, method, handler })]
    }),
  )
}

function neglected(
  folder: string,
  program: ts.Program,
  {
    document,
    operation,
    method,
    handler,
  }: { document: Json; operation: Json; method: string; handler: ts.Node },
): string[] {
  const own = duties.filter(({ isDeclared }) => isDeclared(document, operation, method))
  if (own.length === 0) return []
  const names = namesIn(reachedFrom(folder, program, handler))
  const source = handler.getSourceFile()
  const { line, character } = source.getLineAndCharacterOfPosition(handler.getStart())
  const place = `${relative(folder, source.fileName)}:${line + 1}:${character + 1}`
  return own
    .filter(({ reaches }) => !reaches.some((name) => names.has(name)))
    .map(({ says }) => `${place} ${operation.operationId} ${says}`)
}

function namesIn(nodes: ts.Node[]): Set<string> {
  const names = new Set<string>()
  const visit = (node: ts.Node): void => {
    if (ts.isIdentifier(node)) names.add(node.text)
    ts.forEachChild(node, visit)
  }
  nodes.forEach(visit)
  return names
}

/** The declared success statuses that the type of the handler's answer lacks. The HTTP layer sends 206. */
function unansweredStatuses(checker: ts.TypeChecker, handler: ts.Node, operation: Json): string[] {
  const value = ts.isPropertyAssignment(handler) ? handler.initializer : handler
  const [signature] = checker.getTypeAtLocation(value).getCallSignatures()
  const answer =
    signature === undefined ? undefined : checker.getAwaitedType(checker.getReturnTypeOfSignature(signature))
  const answered = (answer?.isUnion() ? answer.types : [answer])
    .filter((type) => type?.symbol?.name !== 'Replay')
    .flatMap((type) => statusesOf(checker, type))
  // The type says nothing about the status.
  if (answered.includes(null)) return []
  return Object.keys(operation.responses).filter(
    (status) => /^2\d\d$/.test(status) && status !== '206' && !answered.includes(Number(status)),
  )
}

/** The statuses of an answer; null stands for any. */
function statusesOf(checker: ts.TypeChecker, answer: ts.Type | undefined): Array<number | null> {
  const symbol = answer?.getProperty('status')
  if (symbol === undefined) return [null]
  const type = checker.getTypeOfSymbol(symbol)
  return (type.isUnion() ? type.types : [type]).map((each) => (each.isNumberLiteral() ? each.value : null))
}
