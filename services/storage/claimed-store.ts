// A blob store that is claimed for the database before its first operation. A store that was unreachable at
// the start is claimed as soon as it is back.
import { storeUnavailable, type BlobParts, type BlobStore } from './blobs/blob-store.ts'
import { StoreOwnershipError } from './ownership.ts'

/** @param claim succeeds at once when the store is claimed already. */
export function claimFirst(store: BlobStore, claim: () => Promise<void>): BlobStore {
  const claimed = async (): Promise<BlobStore> => {
    await claim().catch((error) => {
      throw error instanceof StoreOwnershipError ? storeUnavailable(error) : error
    })
    return store
  }
  return {
    ...store,
    put: async (key, file) => await (await claimed()).put(key, file),
    read: async (key, range) => await (await claimed()).read(key, range),
    presign: async (key, options) => await (await claimed()).presign(key, options),
    async delete(keys) {
      try {
        return await (await claimed()).delete(keys)
      } catch (error) {
        return { deleted: [], error }
      }
    },
    async *list() {
      yield* (await claimed()).list()
    },
    sizeOf: async (key) => await (await claimed()).sizeOf(key),
    deleteIncompletePuts: async (before, unusedOf) =>
      await (await claimed()).deleteIncompletePuts(before, unusedOf),
    ping: async () => await (await claimed()).ping(),
    parts: store.parts && claimParts(store.parts, claimed),
  }
}

function claimParts(parts: BlobParts, claimed: () => Promise<unknown>): BlobParts {
  const first =
    <Arguments extends unknown[], Result>(method: (...given: Arguments) => Promise<Result>) =>
    async (...given: Arguments): Promise<Result> => {
      await claimed()
      return await method(...given)
    }
  return {
    takesNew: parts.takesNew,
    begin: first(parts.begin),
    put: first(parts.put),
    presign: first(parts.presign),
    list: first(parts.list),
    complete: first(parts.complete),
    abort: first(parts.abort),
    putTail: first(parts.putTail),
    readTail: first(parts.readTail),
    deleteTails: first(parts.deleteTails),
    async *listTails() {
      await claimed()
      yield* parts.listTails()
    },
  }
}
