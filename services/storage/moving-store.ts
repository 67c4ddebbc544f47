// The file store while files move: blobs are written to the first store, and read from the second one where
// the first does not have them. Both are on all servers, so that either may be the first one of a server.
import pLimit from 'p-limit'
import { BlobNotFound, type BlobStore, type ListedBlob } from './blobs/blob-store.ts'

export function createMovingStore(first: BlobStore, second: BlobStore): BlobStore {
  const sizeOf = async (key: string): Promise<number | null> =>
    (await first.sizeOf(key)) ??
    (await second.sizeOf(key)) ??
    // The blob may have moved meanwhile.
    (await first.sizeOf(key))

  return {
    // Uploads that have begun in the bucket end there.
    parts: first.parts ?? (second.parts && { ...second.parts, takesNew: false }),
    location: first.location,
    documents: first.documents,
    put: (key, file) => first.put(key, file),
    async read(key, range) {
      for (const store of [first, second])
        try {
          return await store.read(key, range)
        } catch (error) {
          if (!(error instanceof BlobNotFound)) throw error
        }
      // The blob may have moved meanwhile.
      return await first.read(key, range)
    },
    // Only one of the stores has URLs.
    redirects: false,
    async presign() {
      throw new Error('there are no URLs while files move')
    },
    async delete(keys) {
      const results = [await first.delete(keys), await second.delete(keys)]
      const [here, there] = results.map(({ deleted }) => new Set(deleted))
      return {
        deleted: keys.filter((key) => here.has(key) && there.has(key)),
        error: results.find(({ error }) => error !== null)?.error ?? null,
      }
    },
    async *list() {
      yield* first.list()
      for await (const page of second.list()) yield await withoutCopied(first, page)
    },
    sizeOf,
    async deleteIncompletePuts(before, unusedOf) {
      await first.deleteIncompletePuts(before, unusedOf)
      await second.deleteIncompletePuts(before, unusedOf)
    },
    async ping() {
      await Promise.all([first.ping(), second.ping()])
    },
    async close() {
      await first.close()
      await second.close()
    },
  }
}

const concurrentChecks = 20

/** The blobs of the page that the other store does not have. */
async function withoutCopied(other: BlobStore, page: ListedBlob[]): Promise<ListedBlob[]> {
  const limit = pLimit(concurrentChecks)
  const sizes = await Promise.all(page.map(({ key }) => limit(() => other.sizeOf(key))))
  return page.filter((_, index) => sizes[index] === null)
}
