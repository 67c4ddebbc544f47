// The documentation names existing files, functions and classes.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import t from 'tap'

const root = join(import.meta.dirname, '../..')

/** The number of files in `folders` that the text names, and those of them that do not exist. */
function namedFiles(text: string, folders: string): { count: number; missing: string[] } {
  const named = [...text.matchAll(new RegExp(`\`((?:${folders})/[\\w/.-]+\\.\\w+)\``, 'g'))].map(
    ([, path]) => path!,
  )
  return { count: named.length, missing: named.filter((path) => !existsSync(join(root, path))) }
}

t.test('every test that docs/security.md names exists', (t) => {
  const { count, missing } = namedFiles(readFileSync(join(root, 'docs/security.md'), 'utf8'), 'test')
  t.ok(count > 40)
  t.same(missing, [])
  t.end()
})

t.test('every file and function that the walkthroughs of docs/architecture.md name exists', (t) => {
  const page = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
  const text = page.slice(page.indexOf('\n## Reading a project\n'))
  const folders = 'app|generated|handlers|infra|packages|prisma|scripts|services|spec'
  const { count, missing } = namedFiles(text, folders)
  t.ok(count > 60)
  t.same(missing, [])
  const functions = [...text.matchAll(/`(\w+)`(?: and `(\w+)`)?\s+in\s+`([\w/.-]+)`/g)].flatMap(
    ([, first, second, file]) =>
      [first, second].filter((name) => name !== undefined).map((name) => ({ name, file: file! })),
  )
  t.ok(functions.length > 40)
  t.same(
    functions.filter(({ name, file }) => !has(file, name)),
    [],
  )
  t.end()
})

t.test('docs/architecture.md lists the files at the top of services/', (t) => {
  const text = readFileSync(join(root, 'docs/architecture.md'), 'utf8')
  const listed = [...text.matchAll(/^- `([\w-]+\.ts)` /gm)].map(([, name]) => name)
  const files = readdirSync(join(root, 'services')).filter((name) => name.endsWith('.ts'))
  t.same(listed.toSorted(), files)
  t.ok(files.length <= 6)
  t.end()
})

/** Whether the file declares a function, a class or a method with the name. */
function has(file: string, name: string): boolean {
  const declaration = new RegExp(`(?:function\\*?|class|const|async) \\*?${name}\\b|^ +${name}[(:]`, 'm')
  return existsSync(join(root, file)) && declaration.test(readFileSync(join(root, file), 'utf8'))
}
