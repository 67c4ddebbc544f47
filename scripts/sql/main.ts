// `npm run sql -- OPERATION`: the SQL that an operation can run, as a tree of the functions from its handler
// to the files of prisma/sql.
import { resolve } from 'node:path'
import { callTree, type Call } from './call-tree.ts'
import { answerHelp } from '../../infra/command-help.ts'

answerHelp(import.meta)

const [operation] = process.argv.slice(2)
if (operation === undefined) {
  console.error('Usage: npm run sql -- OPERATION')
  process.exit(2)
}
const tree = callTree(resolve(import.meta.dirname, '../..'), operation)
if (tree === null) {
  console.error(`There is no operation ${operation} in handlers/.`)
  process.exit(1)
}
console.log(textOf(tree).join('\n'))

function textOf({ name, place, calls }: Call): string[] {
  const title = place === null ? name : `${name}  (${place})`
  return [title, ...calls.flatMap(textOf).map((line) => `  ${line}`)]
}
