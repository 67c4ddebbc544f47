// Takes one lock after another, each at a moment that other racers know too, and tells which it got.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { lockFolder } from '../../infra/postgres/lock.ts'

const [folder = '', start = '', rounds = ''] = process.argv.slice(2)
const won: number[] = []
for (let round = 0; round < Number(rounds); round += 1) {
  const contested = join(folder, String(round))
  mkdirSync(contested, { recursive: true })
  const moment = Number(start) + round * 5
  while (Date.now() < moment) {
    /* Sleeping would wake the racers too far apart. */
  }
  if (lockFolder(contested) !== null) won.push(round)
}
console.log(JSON.stringify({ won }))
// What was won stays locked until the process is ended.
setInterval(() => {}, 60_000)
