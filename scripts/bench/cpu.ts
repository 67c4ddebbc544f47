// Preloaded into every process that is measured: says on request, and as the process ends, how much CPU it
// has used; and ends it when the bench is gone.
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
// Listening for questions is no reason to stay alive.
process.channel?.unref()
