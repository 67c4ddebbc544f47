// If-Match: the handler checks it against the locked row, in the transaction that changes the row.
import type { OperationInfo } from '../../infra/contract/operation.ts'
import type { Db } from '../../infra/database/database.ts'
import { preconditionFailed } from '../../infra/errors.ts'
import { matches } from './etag.ts'
import { entityTag } from './response.ts'

export interface Precondition {
  /** Throws 412 when If-Match names another version of `entity` than its present one. */
  check(entity: unknown): void
  /** The database for the handler. It refuses to commit a transaction in which `check` was not called. */
  guard(db: Db): Db
}

/** The precondition of an operation that takes no If-Match. */
const noPrecondition: Precondition = { check: () => {}, guard: (db) => db }

export function preconditionOf(info: OperationInfo, ifMatch: string | undefined): Precondition {
  return info.ifMatch === null ? noPrecondition : new IfMatch(info, ifMatch)
}

class IfMatch implements Precondition {
  #info: OperationInfo
  #header: string | undefined
  #checked = false

  constructor(info: OperationInfo, header: string | undefined) {
    this.#info = info
    this.#header = header
  }

  check = (entity: unknown): void => {
    this.#checked = true
    if (this.#header !== undefined && !matches(this.#header, entityTag(this.#info, entity)))
      throw preconditionFailed()
  }

  guard(db: Db): Db {
    if (this.#header === undefined) return db
    return withTransaction(db, (work) =>
      db.transaction(async (tx) => {
        const result = await work(tx)
        if (!this.#checked) throw new Error(`${this.#info.id} did not check If-Match against its entity`)
        return result
      }),
    )
  }
}

/** The same database with another way to run a transaction. */
function withTransaction(db: Db, transaction: Db['transaction']): Db {
  return {
    prisma: db.prisma,
    request: db.request,
    later: db.later,
    sql: (statement, values) => db.sql(statement, values),
    afterCommit: (effect) => db.afterCommit(effect),
    transaction,
  }
}
