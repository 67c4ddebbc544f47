// The compiler's diagnostics with their places.
import { relative } from 'node:path'
import ts from 'typescript'
import type { CompilerError } from './compiler-errors.ts'

/** @returns null for a diagnostic without a place. */
export function compilerError(
  folder: string,
  { file, start = 0, messageText, code }: ts.Diagnostic,
): CompilerError | null {
  if (file === undefined) return null
  const { line, character } = file.getLineAndCharacterOfPosition(start)
  const lines = ts.flattenDiagnosticMessageText(messageText, '\n').split('\n')
  return {
    file: relative(folder, file.fileName),
    line: line + 1,
    column: character + 1,
    code,
    lines: lines.map((text) => text.trim()),
  }
}
