// Reports the compiler's errors of the whole project, every field of a request body that no code reads, what
// an operation declares and its handler never does, and every promise that is not awaited: its rejection
// would end the process, or the response would be sent before its work is done.
import { relative, resolve } from 'node:path'
import ts from 'typescript'
import { explained, formatDiagnostic } from './compiler-errors.ts'
import { compilerError } from './diagnostics.ts'
import { unkeptDeclarations } from './unkept-declarations.ts'
import { unreadFields } from './unread-fields.ts'

/**
 * @param isChecked whether the compiler checks the file; by default all.
 * @returns each problem in the project of `folder`: `file:line:column message` and the source line.
 */
export function typeProblems(folder: string, isChecked?: (file: string) => boolean): string[] {
  const config = ts.getParsedCommandLineOfConfigFile(
    resolve(folder, 'tsconfig.json'),
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: (problem) => {
        throw new Error(ts.flattenDiagnosticMessageText(problem.messageText, '\n'))
      },
    },
  )!
  const program = ts.createProgram(config.fileNames, config.options)
  const files = program.getSourceFiles()
  const found =
    isChecked === undefined
      ? ts.getPreEmitDiagnostics(program)
      : files
          .filter(({ fileName }) => isChecked(relative(folder, fileName)))
          .flatMap((file) => ts.getPreEmitDiagnostics(program, file))
  const problems = compilerProblems(folder, found)
  const checker = program.getTypeChecker()
  for (const file of files) {
    const name = relative(folder, file.fileName)
    if (isChecked?.(name) === false) continue
    if (name.includes('node_modules') || name.startsWith('generated') || name.startsWith('..')) continue
    for (const node of floatingPromises(file, checker)) {
      const text = 'this promise is not awaited (put `void` before it if that is intended)'
      problems.push(placed(folder, { file, start: node.getStart(file), text }))
    }
  }
  problems.push(...unreadFields(folder, program), ...unkeptDeclarations(folder, program))
  return problems
}

/** The errors of the compiler: `file:line:column message` and the source line. */
export function compilerProblems(folder: string, found: readonly ts.Diagnostic[]): string[] {
  const unplaced = found.filter(({ file }) => file === undefined)
  const errors = found.flatMap((problem) => compilerError(folder, problem) ?? [])
  return [
    ...unplaced.map((problem) => typeProblem(folder, problem)),
    ...explained(folder, errors).map((problem) => formatDiagnostic(folder, problem)),
  ]
}

/** One error with all that the compiler says about it. */
export function typeProblem(folder: string, { file, start = 0, messageText, code }: ts.Diagnostic): string {
  const text = `${ts.flattenDiagnosticMessageText(messageText, '\n  ')} (TS${code})`
  return file === undefined ? text : placed(folder, { file, start, text })
}

function placed(
  folder: string,
  { file, start, text }: { file: ts.SourceFile; start: number; text: string },
): string {
  const { line, character } = file.getLineAndCharacterOfPosition(start)
  const excerpt = file.text.split('\n')[line].trim()
  return `${relative(folder, file.fileName)}:${line + 1}:${character + 1} ${text}\n    ${excerpt}`
}

function floatingPromises(file: ts.SourceFile, checker: ts.TypeChecker): ts.Node[] {
  const found: ts.Node[] = []
  const visit = (node: ts.Node): void => {
    if (ts.isExpressionStatement(node) && floats(node.expression, checker)) found.push(node)
    ts.forEachChild(node, visit)
  }
  visit(file)
  return found
}

function floats(expression: ts.Expression, checker: ts.TypeChecker): boolean {
  if (ts.isParenthesizedExpression(expression)) return floats(expression.expression, checker)
  if (ts.isConditionalExpression(expression))
    return floats(expression.whenTrue, checker) || floats(expression.whenFalse, checker)
  if (ts.isBinaryExpression(expression)) {
    const operator = expression.operatorToken.kind
    const short =
      operator === ts.SyntaxKind.AmpersandAmpersandToken ||
      operator === ts.SyntaxKind.BarBarToken ||
      operator === ts.SyntaxKind.QuestionQuestionToken
    return short && floats(expression.right, checker)
  }
  if (
    !ts.isCallExpression(expression) &&
    !ts.isIdentifier(expression) &&
    !ts.isPropertyAccessExpression(expression)
  )
    return false
  if (!isPromise(checker.getTypeAtLocation(expression), checker)) return false
  if (ts.isCallExpression(expression) && ts.isPropertyAccessExpression(expression.expression)) {
    const {
      name: { text: method },
      expression: on,
    } = expression.expression
    if (method === 'catch' && expression.arguments.length > 0) return false
    if (method === 'then' && expression.arguments.length > 1) return false
    if (method === 'finally') return floats(on, checker)
    // tap runs the subtests of a test in order and awaits them itself.
    if (method === 'test') return false
  }
  return true
}

/**
 * A promise has `then` and `catch`. Fastify's replies and instances have only `then`; Fastify handles their
 * errors.
 */
function isPromise(type: ts.Type, checker: ts.TypeChecker): boolean {
  const parts = type.isUnion() ? type.types : [type]
  return parts.some(
    (part) =>
      checker.getPropertyOfType(part, 'then') !== undefined &&
      checker.getPropertyOfType(part, 'catch') !== undefined,
  )
}

if (import.meta.main) {
  const root = resolve(import.meta.dirname, '../..')
  const problems = [...typeProblems(root), ...typeProblems(resolve(root, 'packages/console'))]
  for (const problem of problems) console.log(problem)
  process.exit(problems.length === 0 ? 0 : 1)
}
