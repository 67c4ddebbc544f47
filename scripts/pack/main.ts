// `npm run pack -- FOLDER`: writes the packages of the toolkit as tarballs for npm, compiled to JavaScript
// with types, for Node.js 20 and newer. Each contains the others that it needs, so it installs alone.
// `npm run pack -- --server FOLDER` writes the whole server as one package.
import { execFileSync } from 'node:child_process'
import { cpSync, globSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join, resolve } from 'node:path'
import ts from 'typescript'
import { openapiModules } from '../../packages/generate/client-runtime.ts'
import { sharedModules } from '../../packages/generate/project.ts'
import { answerHelp, isMain } from '../../packages/openapi/command-help.ts'

const packages = resolve(import.meta.dirname, '../../packages')
const scope = '@platform-api/'

/** In the order of their dependencies. */
export const packageNames = ['openapi', 'lint', 'generate', 'contract', 'mock', 'changes', 'toolkit']

interface Manifest {
  name: string
  version: string
  dependencies: Record<string, string>
  devDependencies?: Record<string, string>
  bin?: Record<string, string>
  exports: Record<string, string>
}

/** Writes one tarball for each package. @throws Error with what the compiler reports. */
export function packAll(out: string): void {
  mkdirSync(out, { recursive: true })
  const folder = mkdtempSync(join(tmpdir(), 'pack-'))
  try {
    compile(folder)
    for (const name of packageNames) stage(folder, name)
    for (const name of packageNames)
      for (const other of bundledBy(name))
        cpSync(join(folder, other), join(folder, name, 'node_modules', scope, other), {
          recursive: true,
          filter: (path) => basename(path) !== 'node_modules',
        })
    const folders = packageNames.map((name) => `./${name}`)
    execFileSync('npm', ['pack', '--silent', '--pack-destination', resolve(out), ...folders], { cwd: folder })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** With the library of Node.js 20: what is newer does not compile. */
function compile(outDir: string): void {
  const { config } = ts.readConfigFile(join(packages, '../tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [] }, ts.sys, packages)
  const program = ts.createProgram(
    packageNames.flatMap((name) => globSync(join(packages, name, '*.ts'))),
    {
      ...options,
      target: ts.ScriptTarget.ES2023,
      lib: ['lib.es2023.d.ts', 'lib.es2024.string.d.ts'],
      noEmit: false,
      declaration: true,
      rewriteRelativeImportExtensions: true,
      rootDir: packages,
      outDir,
    },
  )
  const { diagnostics } = program.emit()
  const problems = [...ts.getPreEmitDiagnostics(program), ...diagnostics]
  if (problems.length === 0) return
  const host = { ...ts.sys, getCanonicalFileName: (name: string) => name, getNewLine: () => '\n' }
  throw new Error(ts.formatDiagnostics(problems, { ...host, getCurrentDirectory: () => packages }))
}

/** Adds to the compiled modules what else the package has. */
function stage(folder: string, name: string): void {
  const { version, ...manifest } = manifestOf(name)
  const bundled = bundledBy(name)
  writeFileSync(
    join(folder, name, 'package.json'),
    JSON.stringify({
      ...manifest,
      version,
      private: undefined,
      engines: { node: '>=20.19' },
      ...(manifest.bin && { bin: { toolkit: './main.js' } }),
      exports: {
        ...(manifest.exports['.'] && { '.': { types: './config.d.ts', default: './config.js' } }),
        './*.ts': { types: './*.d.ts', default: './*.js' },
        './package.json': './package.json',
      },
      dependencies: Object.assign(
        {},
        ...[...bundled, name].map((each) => thirdParty(manifestOf(each))),
        Object.fromEntries(bundled.map((each) => [scope + each, manifestOf(each).version])),
      ),
      bundleDependencies: bundled.map((each) => scope + each),
    }),
  )
  cpSync(join(packages, 'CHANGELOG.md'), join(folder, name, 'CHANGELOG.md'))
  cpSync(join(packages, name, 'README.md'), join(folder, name, 'README.md'))
  if (name !== 'generate') return
  cpSync(join(packages, name, 'template'), join(folder, name, 'template'), { recursive: true })
  for (const module of [...sharedModules, ...openapiModules])
    cpSync(join(packages, 'openapi', module), join(folder, name, 'template/openapi', module))
  for (const file of globSync(join(packages, 'client/*.{ts,md}')).concat(join(packages, 'client/LICENSE')))
    cpSync(file, join(folder, name, 'template/client', basename(file)))
}

function manifestOf(name: string): Manifest {
  return JSON.parse(readFileSync(join(packages, name, 'package.json'), 'utf8'))
}

const isOwn = ([name]: [string, unknown]): boolean => name.startsWith(scope)

function thirdParty({ dependencies }: Manifest): Record<string, string> {
  return Object.fromEntries(Object.entries(dependencies).filter((each) => !isOwn(each)))
}

/** The other packages that the package needs, also through each other. */
function bundledBy(name: string): string[] {
  const own = Object.entries(manifestOf(name).dependencies).filter(isOwn)
  const direct = own.map(([each]) => each.slice(scope.length))
  return [...new Set(direct.flatMap((each) => [each, ...bundledBy(each)]))].sort()
}

if (isMain(import.meta)) {
  answerHelp(import.meta)
  const words = process.argv.slice(2)
  const isServer = words[0] === '--server'
  const [out, ...more] = words.slice(Number(isServer))
  if (out === undefined || more.length > 0) {
    console.error('Pass one folder for the tarballs.')
    process.exitCode = 2
  } else if (isServer) (await import('./server.ts')).packServer(out)
  else packAll(out)
}
