// `npm run sql`: the tree from a handler to the SQL that it can run.
import t from 'tap'
import { callTree } from '../../scripts/sql/call-tree.ts'

t.test('follows functions, interfaces, tables of functions and Prisma to the SQL', (t) => {
  const root = t.testdir({
    'tsconfig.json': JSON.stringify({
      compilerOptions: { noLib: true, types: [], allowImportingTsExtensions: true, noEmit: true },
    }),
    generated: {
      sql: {
        'shop.ts': `declare function one(label: string): () => void
          export const findShop = one('shop/find-shop')
          export const insertSale = one('shop/insert-sale')
          export const insertGift = one('shop/insert-gift')
          export const deleteShop = one('shop/delete-shop')`,
      },
    },
    services: {
      'shop.ts': `import * as sql from '../generated/sql/shop.ts'
        export interface Notifier { notify(): void }
        export function createNotifier(): Notifier {
          return { notify() { sql.insertSale() } }
        }
        export interface Other { notify(): void }
        export function createOther(): Other {
          return { notify() { sql.deleteShop() } }
        }
        export const inserts = { gift: sql.insertGift }
        export function unrelated() { sql.deleteShop() }
        export function openShop(lock: boolean) {
          const find = lock ? sql.findShop : sql.findShop
          find()
        }
        export function loop() { loop() }`,
    },
    handlers: {
      'shop.ts': `import { openShop, inserts, loop, type Notifier } from '../services/shop.ts'
        export const shop = {
          sell(kind: 'gift', notifier: Notifier, db: any) {
            openShop(true)
            inserts[kind]()
            notifier.notify()
            loop()
            db.prisma.shop.update()
          },
        }`,
    },
  })
  t.strictSame(textOf(callTree(root, 'sell')), [
    'sell',
    [
      ['openShop', [['prisma/sql/shop/find-shop.sql', []]]],
      ['inserts', [['prisma/sql/shop/insert-gift.sql', []]]],
      ['notify', [['prisma/sql/shop/insert-sale.sql', []]]],
      ['prisma.shop.update', []],
    ],
  ])
  t.equal(callTree(root, 'sell')!.place, 'handlers/shop.ts:3')
  t.equal(callTree(root, 'buy'), null)
  t.end()
})

type Tree = [name: string, calls: Tree[]]

function textOf(call: ReturnType<typeof callTree>): Tree {
  return [call!.name, call!.calls.map(textOf)]
}
