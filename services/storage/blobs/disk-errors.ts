// Translates error codes of the file system.
import { unavailable } from '../../../infra/errors.ts'
import { storeUnavailable } from './blob-store.ts'

const unavailableCodes = new Set([
  'EIO',
  'EROFS',
  'EACCES',
  'EPERM',
  'EMFILE',
  'ENFILE',
  'ENOENT',
  'ENOTDIR',
  'EBUSY',
  'ESTALE',
  'ENODEV',
])

/** The 503 for an error of a full or broken disk. Other errors are returned unchanged. */
export function asUnavailable(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOSPC' || code === 'EDQUOT')
    return Object.assign(unavailable('There is no room for more files; try again later.', 60), {
      cause: error,
    })
  if (code !== undefined && unavailableCodes.has(code)) return storeUnavailable(error)
  return error
}

export function isMissing(error: unknown): boolean {
  return (error as NodeJS.ErrnoException).code === 'ENOENT'
}

/**
 * Whether a hard link failed because the file system has none, or because the paths are on two file systems.
 */
export function cannotHardLink(error: NodeJS.ErrnoException): boolean {
  return error.code === 'EPERM' || error.code === 'ENOTSUP' || error.code === 'EXDEV'
}

/**
 * Throws ENOSPC for a short write: an almost full disk writes only a part of the chunk and reports no error.
 */
export function requireFullWrite(bytesWritten: number, length: number): void {
  if (bytesWritten !== length) throw Object.assign(new Error('the disk is full'), { code: 'ENOSPC' })
}
