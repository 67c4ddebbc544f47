// The files that a test file depends on: what it and its modules import and what they name in quotes,
// relative to themselves or to the root (a folder only if code of the tests names it). Of the handlers, those
// that ran in its last pass, in a copy of the project too. A test that reads all of them says so:
// `// reads: handlers`.
import { hash } from 'node:crypto'
import { existsSync, globSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

/** The services of a run and the code that runs every test. */
const ofAllTests = ['package-lock.json', 'scripts/test', 'prisma']
/** The modules of the handlers are all imported here, but each serves its own requests only. */
const handlerTable = 'generated/routes.ts'
const isCode = /\.(ts|js|mjs|cjs)$/
/** Code that names no files. */
const isOutput = /^generated\//
const isTest = /^(test|packages\/[\w-]+\/test)\//
const imported = /(?:from|import\(?) ?'([^'\n]+)'/g
const quoted = /['`]([\w@.][\w@./-]*)['`]/g
const read = /^\/\/ reads: (\S+)$/gm

export class Inputs {
  #root: string
  #hashes = new Map<string, string>()
  #named = new Map<string, string[]>()
  #ofAllTests: string[]

  constructor(root: string) {
    this.#root = root
    this.#ofAllTests = ofAllTests.flatMap((path) => this.#filesOf(path))
  }

  /** The hash of all that the test file depends on. @param handlers the names of modules of handlers/. */
  hashOf(test: string, handlers: string[]): string {
    const lines = [...this.#filesOfTest(test, handlers)]
      .sort()
      .map((file) => `${file} ${this.#hashOfFile(file)}`)
    return hash('sha256', [process.version, process.platform, ...lines].join('\n'))
  }

  #filesOfTest(test: string, handlers: string[]): Set<string> {
    const found = new Set(this.#ofAllTests)
    const queue = [test, ...handlers.map((name) => `handlers/${name}.ts`)]
    for (const file of queue) {
      if (found.has(file)) continue
      found.add(file)
      queue.push(...this.#namedBy(file))
    }
    return found
  }

  #hashOfFile(file: string): string {
    let found = this.#hashes.get(file)
    if (found === undefined) {
      const path = join(this.#root, file)
      found = existsSync(path) ? hash('sha256', readFileSync(path)) : 'none'
      this.#hashes.set(file, found)
    }
    return found
  }

  #namedBy(file: string): string[] {
    let found = this.#named.get(file)
    if (found === undefined) {
      found = isCode.test(file) && existsSync(join(this.#root, file)) ? this.#readNames(file) : []
      this.#named.set(file, found)
    }
    return found
  }

  #readNames(file: string): string[] {
    const text = readFileSync(join(this.#root, file), 'utf8')
    const names = new Set([...text.matchAll(isOutput.test(file) ? imported : quoted)].map(([, name]) => name))
    const named = [...names].flatMap((name) => {
      const path = this.#pathOf(name, file)
      if (path === null || !existsSync(join(this.#root, path))) return []
      if (file === handlerTable && path.startsWith('handlers/')) return []
      return isTest.test(file) || !this.#isFolder(path) ? this.#filesOf(path) : []
    })
    return [...named, ...[...text.matchAll(read)].flatMap(([, path]) => this.#filesOf(path))]
  }

  /** The path from the root that the name stands for in the file; null for what is no path. */
  #pathOf(name: string, file: string): string | null {
    if (name.startsWith('.')) {
      // Only dots: how code finds the root.
      if (!/\w/.test(name)) return null
      const path = relative(this.#root, resolve(this.#root, dirname(file), name))
      return /^(\.|node_modules)/.test(path) ? null : path
    }
    if (name.startsWith('@platform-api/')) return name.replace('@platform-api', 'packages')
    // `test` is a word of its own; a path out of the project is none of its files.
    return /^(node_modules|test$|handlers\/?$)|(^|\/)\.\.(\/|$)/.test(name) ? null : name
  }

  #isFolder(path: string): boolean {
    return statSync(join(this.#root, path)).isDirectory()
  }

  /** The file, or all files of the folder. */
  #filesOf(path: string): string[] {
    if (!this.#isFolder(path)) return [path]
    return globSync('**', { cwd: join(this.#root, path), withFileTypes: true, exclude: ['**/node_modules'] })
      .filter((entry) => entry.isFile())
      .map((entry) => relative(this.#root, join(entry.parentPath, entry.name)))
  }
}
