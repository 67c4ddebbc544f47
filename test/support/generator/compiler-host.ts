// A host of TypeScript's compiler, for tests that compile several programs in one process.
import { resolve } from 'node:path'
import ts from 'typescript'

/** The folder of the packages, which no test changes. */
const packages = resolve(import.meta.dirname, '../../../node_modules') + '/'
const parsed = new Map<string, ts.SourceFile | undefined>()

/** All compilations share the parsed packages, and the libraries of TypeScript among them. */
export function compilerHost(options: ts.CompilerOptions): ts.CompilerHost {
  const host = ts.createCompilerHost(options)
  const { getSourceFile } = host
  host.getSourceFile = (file, format, ...others) => {
    if (!file.startsWith(packages)) return getSourceFile(file, format, ...others)
    const key = `${file} ${typeof format === 'object' ? format.impliedNodeFormat : ''}`
    if (!parsed.has(key)) parsed.set(key, getSourceFile(file, format, ...others))
    return parsed.get(key)
  }
  return host
}
