// Documents of a store in a bucket: objects beside the blobs.
import { GetObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { storeUnavailable, type StoreDocuments } from './blob-store.ts'
import { statusOf, withTimeout, type S3Target } from './s3-client.ts'

export function createS3Documents(target: S3Target): StoreDocuments {
  const { client, bucket: Bucket } = target

  async function read(name: string): Promise<string | null> {
    try {
      const { Body } = await client.send(new GetObjectCommand({ Bucket, Key: name }), withTimeout(target))
      return await Body!.transformToString()
    } catch (error) {
      if ((error as Error).name === 'NoSuchKey') return null
      throw storeUnavailable(error)
    }
  }

  async function put(name: string, content: string, condition: { IfNoneMatch?: string } = {}): Promise<void> {
    const object = { Bucket, Key: name, Body: content, ContentType: 'application/json' }
    await client.send(new PutObjectCommand({ ...object, ...condition }), withTimeout(target))
  }

  async function write(name: string, content: string): Promise<void> {
    try {
      await put(name, content)
    } catch (error) {
      throw storeUnavailable(error)
    }
  }

  return {
    read,
    write,
    async create(name, content) {
      try {
        await put(name, content, { IfNoneMatch: '*' })
        return true
      } catch (error) {
        // 412: the object exists. 409: another request is creating it.
        if ([409, 412].includes(statusOf(error)!)) return false
        if (statusOf(error) !== 501) throw storeUnavailable(error)
      }
      // A store without conditional writes. Of concurrent calls the last one wins, so callers read again.
      if ((await read(name)) !== null) return false
      await write(name, content)
      return true
    },
  }
}
