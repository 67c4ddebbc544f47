// Upload-Checksum: a digest of the bytes of one request (the checksum extension of tus 1.0.0).
import { createHash } from 'node:crypto'
import { ApiError } from '../../../infra/errors.ts'

export const checksumAlgorithms = ['sha1', 'sha256']

export interface Checksum {
  update(chunk: Buffer): void
  /** Throws 460 when what came is not what the header says. */
  verify(): void
}

/** The header is as the spec has it, or not there. */
export function checksumOf(header: string | undefined): Checksum | null {
  if (header === undefined) return null
  const [algorithm, expected] = header.split(' ')
  const hash = createHash(algorithm)
  return {
    update(chunk) {
      hash.update(chunk)
    },
    verify() {
      if (hash.digest('base64') !== expected)
        throw checksumMismatch(
          'Upload-Checksum',
          'checksum',
          'These are not the bytes that Upload-Checksum says; none of them is kept.',
        )
    },
  }
}

/** 460, as tus has it. */
export function checksumMismatch(field: string, constraint: string, message: string): ApiError {
  return new ApiError(460, 'INVALID_REQUEST', message, { field, constraint })
}
