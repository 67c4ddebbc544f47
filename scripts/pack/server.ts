// The whole server as one npm package: compiled to JavaScript, with what it reads, and with the versions of
// package-lock.json. `npx` starts it in an empty folder.
import { execFileSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, relative, resolve } from 'node:path'
import ts from 'typescript'
import { packAll } from './main.ts'

const root = resolve(import.meta.dirname, '../..')
const bin = 'scripts/setup/bin.mjs'

/** All other modules are reached from these. */
const modules = ['scripts/container/main.ts', 'generated/{validators,serializers}.js']

/** What the modules read, and the JavaScript of the project. */
const files = [
  '{app,services,infra}/**/*.{js,css,zip,json}',
  'generated/*.json',
  'generated/console/**/*.{js,json,css}',
  'generated/client/!(types.d.ts)',
  'generated/prisma/client.js',
  'docs/guides/*',
  'prisma/migrations/**/*.{sql,toml}',
  'scripts/setup/*',
  'scripts/run.mjs',
  'README.md',
  'CHANGELOG.md',
  'LICENSE',
]

interface Locked {
  version: string
  link?: boolean
  dev?: boolean
  devOptional?: boolean
  peer?: boolean
  optional?: boolean
}

/** Writes the tarball. `toolkit`: whether the server has the packages of the toolkit for download. */
export function packServer(out: string, { toolkit = true } = {}): void {
  mkdirSync(out, { recursive: true })
  const folder = mkdtempSync(join(tmpdir(), 'pack-server-'))
  try {
    compile(folder)
    for (const file of globSync(files, { cwd: root })) cpSync(join(root, file), join(folder, file))
    if (toolkit) packAll(join(folder, 'packages/tarballs'))
    writeManifest(folder)
    execFileSync('npm', ['pack', '--silent', '--pack-destination', resolve(out)], { cwd: folder })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A name of a TypeScript file, relative to the module that has it: an import, or a file for a process. */
const moduleName = /(['"])([\w./-]+)\.ts\1/g

/** Writes the modules as JavaScript, under the same names with the extension js. */
function compile(folder: string): void {
  const found = new Set(globSync(modules, { cwd: root }).map((path) => join(root, path)))
  for (const path of found) {
    const text = javaScriptOf(path).replace(moduleName, (name, quote, stem) => {
      const target = join(dirname(path), `${stem}.ts`)
      if (!existsSync(target)) return name
      found.add(target)
      return `${quote}${stem}.js${quote}`
    })
    const to = join(folder, relative(root, path)).replace(/\.ts$/, '.js')
    mkdirSync(dirname(to), { recursive: true })
    writeFileSync(to, text)
  }
}

function javaScriptOf(path: string): string {
  const text = readFileSync(path, 'utf8')
  if (path.endsWith('.js')) return text
  const { ESNext: target } = ts.ScriptTarget
  const { ESNext: module } = ts.ModuleKind
  return ts.transpileModule(text, { compilerOptions: { target, module, verbatimModuleSyntax: true } })
    .outputText
}

function writeManifest(folder: string): void {
  const read = (file: string): any => JSON.parse(readFileSync(join(root, file), 'utf8'))
  const { name, version, description, license, type, dependencies } = read('package.json')
  const { packages, ...lock } = read('package-lock.json')
  const locked = Object.entries(packages as Record<string, Locked>).filter(
    ([path, entry]) =>
      path.startsWith('node_modules/') &&
      !(entry.link || entry.dev || entry.devOptional || (entry.peer && entry.optional)),
  )
  const manifest = {
    name,
    version,
    description,
    license,
    type,
    engines: { node: '>=20' },
    bin: { [name]: bin },
    dependencies: Object.fromEntries(
      Object.keys(dependencies).map((each) => [each, packages[`node_modules/${each}`].version]),
    ),
  }
  const write = (file: string, content: unknown): void =>
    writeFileSync(join(folder, file), JSON.stringify(content, null, 2))
  write('package.json', manifest)
  write('npm-shrinkwrap.json', { ...lock, packages: { '': manifest, ...Object.fromEntries(locked) } })
}
