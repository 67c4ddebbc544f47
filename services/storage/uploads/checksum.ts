// Upload-Checksum: the digest of the bytes of one request (the checksum extension of tus 1.0.0).
import { createHash } from 'node:crypto'
import { ApiError } from '../../../infra/errors.ts'

export const checksumAlgorithms = ['sha1', 'sha256']

export interface Checksum {
  update(chunk: Buffer): void
  /** Throws 460 when the received bytes do not match the header. */
  verify(): void
}

/** Parses a validated Upload-Checksum header. @returns null when the header is absent. */
export function parseChecksum(header: string | undefined): Checksum | null {
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
          'The bytes do not match Upload-Checksum; they were discarded.',
        )
    },
  }
}

/** 460, the status that tus defines for a checksum mismatch. */
export function checksumMismatch(field: string, constraint: string, message: string): ApiError {
  return new ApiError(460, 'INVALID_REQUEST', message, { field, constraint })
}
