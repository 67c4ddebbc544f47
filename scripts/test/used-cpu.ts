import { readFileSync } from 'node:fs'

/** CPU milliseconds of this process and, on Linux, of its ended children. */
export function usedCpu(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000 + childrenCpu()
}

/** From the fields `cutime` and `cstime` of proc_pid_stat(5), in ticks of 10 ms. */
function childrenCpu(): number {
  if (process.platform !== 'linux') return 0
  const text = readFileSync('/proc/self/stat', 'utf8')
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[13]) + Number(fields[14])) * 10
}
