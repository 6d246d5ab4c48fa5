import { expect, it } from 'vitest'
import { Subscriber } from '../../live/subscriber.ts'
import { Heartbeat } from './heartbeat.ts'

const TIMING = { authMs: 5000, heartbeatMs: 10_000, pingMs: 15_000, farMs: 3500 }

function create() {
  const done: string[] = []
  const sink = { write() {}, cork() {}, uncork() {}, buffered: 0, left: 0 }
  const subscriber = new Subscriber(sink, () => undefined)
  const actions = {
    sendHeartbeat: () => void done.push('heartbeat'),
    ping: () => void done.push('ping'),
    terminate: () => void done.push('terminate'),
    recover: () => void done.push('recover'),
  }
  const send = (length: number): void => {
    subscriber.send(new Uint8Array(length))
    subscriber.flush()
  }
  return { done, subscriber, send, heartbeat: new Heartbeat(subscriber, TIMING, actions, 0) }
}

it('sends heartbeats and pings, and ends a connection after two unanswered pings', () => {
  const { done, heartbeat } = create()
  for (let nowMs = 1000; nowMs <= 45_000; nowMs += 1000) heartbeat.pulse(nowMs)
  expect(done).toEqual([
    'heartbeat',
    'ping',
    'heartbeat',
    'heartbeat',
    'ping',
    'heartbeat',
    'terminate',
  ])
})

it('pings sooner after many bytes, and suspends rows until the client answers', () => {
  const { done, subscriber, send, heartbeat } = create()
  send(100_000)
  heartbeat.pulse(400)
  expect(done).toEqual(['ping'])
  send(300_000)
  heartbeat.pulse(3800)
  expect(subscriber.lags).toBe(false)
  heartbeat.pulse(4000)
  expect(subscriber.lags).toBe(true)
  heartbeat.answered()
  expect([subscriber.lags, done]).toEqual([false, ['ping', 'recover']])
})
