// Limits of addresses last for a minute, so each round comes from another address of loopback. Where there is
// only 127.0.0.1, later rounds begin over their limits.
import { platform } from 'node:os'

let rounds = 0

export function addressOfRound(): string | undefined {
  if (platform() !== 'linux') return undefined
  rounds++
  return `127.1.${rounds >> 8}.${rounds & 255}`
}
