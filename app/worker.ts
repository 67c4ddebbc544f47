// `npm run worker`: runs the background work (webhooks, documents, renewals, retention) in a process without
// a socket. Any number of workers share the work of one database.
import { answerHelp } from '../infra/command-help.ts'
import { finishLoading, prepareToLoad } from './before-loading.ts'

answerHelp(import.meta)

prepareToLoad()
await (await import('./work.ts')).work()
finishLoading()
