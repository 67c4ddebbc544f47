// A host of TypeScript's compiler, for tests that compile several programs in one process.
import ts from 'typescript'

const libraries = new Map<string, ts.SourceFile | undefined>()

/** All compilations share the parsed libraries of TypeScript, which takes a second to parse. */
export function compilerHost(options: ts.CompilerOptions): ts.CompilerHost {
  const host = ts.createCompilerHost(options)
  const { getSourceFile } = host
  host.getSourceFile = (file, ...others) => {
    if (!file.includes('/typescript/lib/')) return getSourceFile(file, ...others)
    if (!libraries.has(file)) libraries.set(file, getSourceFile(file, ...others))
    return libraries.get(file)
  }
  return host
}
