// Preloaded into every measured process. Reports the CPU time on request and at exit, and ends the process
// when the benchmark ends.
const used = (): number => {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1e6
}

process.on('message', (message) => {
  if (message === 'cpu') process.send?.({ cpu: used() })
})
process.on('disconnect', () => process.exit())
process.on('exit', () => {
  if (process.connected) process.send?.({ ended: used() })
})
// The listener must not keep the process alive.
process.channel?.unref()
