// Races other processes for a series of locks, each at an agreed time, and prints the rounds that it won. The
// file `start` contains the time of the first round.
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { lockFolder } from '../../../infra/postgres/lock.ts'

const [folder = '', rounds = ''] = process.argv.slice(2)
const won: number[] = []
console.log(JSON.stringify({ ready: true }))
const startFile = join(folder, 'start')
while (!existsSync(startFile)) await sleep(5)
const start = Number(readFileSync(startFile, 'utf8'))
for (let round = 0; round < Number(rounds); round += 1) {
  const lockDir = join(folder, String(round))
  mkdirSync(lockDir, { recursive: true })
  const startAt = start + round * 5
  while (Date.now() < startAt) {
    /* Sleeping would wake the racers too far apart. */
  }
  if (lockFolder(lockDir) !== null) won.push(round)
}
console.log(JSON.stringify({ won }))
// The locks are kept until the process is killed.
setInterval(() => {}, 60_000)
