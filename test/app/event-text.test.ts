// The data of server-sent events as JSON.
import t from 'tap'
import { operations } from '../../generated/operations.ts'
import { eventText } from '../../app/http/response.ts'

const { streamChat, streamEvents } = operations

t.test('the same data has the JSON of each event that it is sent as', async (t) => {
  const data = { delta: 'Events', reason: 'shutdown' }
  for (const _ of ['first', 'again']) {
    t.equal(eventText(streamChat, 200, 'message.delta', data, false), '{"delta":"Events"}')
    t.equal(eventText(streamEvents, 200, 'end', data, false), '{"reason":"shutdown"}')
  }
  t.throws(() => eventText(streamEvents, 200, 'message.delta', data, false), /does not declare/)
})
