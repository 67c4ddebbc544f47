// Races other processes for a series of locks, each at an agreed time, and prints the rounds that it won.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { lockFolder } from '../../infra/postgres/lock.ts'

const [folder = '', start = '', rounds = ''] = process.argv.slice(2)
const won: number[] = []
for (let round = 0; round < Number(rounds); round += 1) {
  const lockDir = join(folder, String(round))
  mkdirSync(lockDir, { recursive: true })
  const startAt = Number(start) + round * 5
  while (Date.now() < startAt) {
    /* Sleeping would wake the racers too far apart. */
  }
  if (lockFolder(lockDir) !== null) won.push(round)
}
console.log(JSON.stringify({ won }))
// The locks are kept until the process is killed.
setInterval(() => {}, 60_000)
