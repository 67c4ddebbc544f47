import type { Difference } from '../../services/storage/verify.ts'

/** Prints a difference between the rows and the blobs as one line. */
export function printDifference({ kind, key, bytes }: Difference): void {
  console.log(`${kind.padEnd(10)}  ${key}  ${bytes} bytes`)
}
