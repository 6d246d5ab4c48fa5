import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { parseAlertRule } from '@priorbook/sdk/alerts'
import { toMicros } from '@priorbook/sdk/domain'
import { describe, expect, it, onTestFinished } from 'vitest'
import { createTempFolder } from '../store/embedded/temp-folder.testing.ts'
import { AlertStore, type NewEvent } from './alert-store.ts'
import { newEvent } from './watch.ts'

const RULE = parseAlertRule({
  kind: 'resolved',
  venue: 'venueb',
  market_id: 'KX-1',
  webhook: 'https://example.com/hook',
})
const EVENT: NewEvent = newEvent({ kind: 'test', name: null, time: '2026-08-11T00:00:00.000000Z' })
const FAR = Number.MAX_SAFE_INTEGER

function open(): {
  readonly file: string
  readonly store: AlertStore
  readonly add: (keyId: string) => string
} {
  const file = join(createTempFolder(), 'alerts.db')
  const store = new AlertStore(file, 100, () => toMicros(Date.now() * 1000))
  onTestFinished(() => store.close())
  expect(store.acquire('me', Date.now(), 60_000)).toBe(true)
  return { file, store, add: (keyId) => store.add(keyId, [keyId], RULE, 10)!.alert.id }
}

describe('the store of alerts', () => {
  it('never forgets that a watch is over, so that no old event is found again', () => {
    const { store, add } = open()
    const ruleId = add('one')
    const step = { ruleId, name: 'venueb/KX-1', state: '{}', events: [EVENT], isOver: true }
    expect(store.commit('me', [step])).toBe(true)
    store.prune(FAR, 1000)
    expect(store.watch(ruleId, 'venueb/KX-1')).toEqual({ state: '', isOver: true })
    expect(store.openWatches(ruleId)).toEqual([])
    store.remove(ruleId)
    expect(store.watch(ruleId, 'venueb/KX-1')).toBeUndefined()
  })

  it('finds open watches, and states to forget, without passing over those that are over', () => {
    const { file } = open()
    const database = new DatabaseSync(file, { readOnly: true })
    onTestFinished(() => database.close())
    const planOf = (sql: string): string =>
      JSON.stringify(database.prepare(`EXPLAIN QUERY PLAN ${sql}`).all())
    const own = `FROM watch INDEXED BY watch_open WHERE rule_id = 'a'`
    expect(planOf(`SELECT name ${own} AND over IS NULL ORDER BY name`)).not.toContain('B-TREE')
    expect(planOf(`SELECT * FROM watch WHERE over < 5 AND state <> ''`)).toContain('watch_state')
  })

  it('gives the first waiting event of each rule, those that wait longest first', () => {
    const { store, add } = open()
    const [one, other] = [add('one'), add('other')]
    for (const rule of [one, other, one, other]) store.addEvent(rule, EVENT)
    const [first, second, ...more] = store.due(FAR)
    expect([first!.number, second!.number, more]).toEqual([1, 1, []])
    expect([first!.ruleId, second!.ruleId].sort()).toEqual([one, other].sort())
    // A rule whose receiver failed goes behind the others.
    store.setFailed(first!, { status: 500, error: 'no' }, Date.now() * 1000 + 1e9)
    expect(store.due(FAR).map(({ ruleId }) => ruleId)).toEqual([second!.ruleId, first!.ruleId])
    expect(store.due(Date.now() * 1000).map(({ ruleId }) => ruleId)).toEqual([second!.ruleId])
  })

  it('leaves a delivered event as it is when an earlier attempt fails late', () => {
    const { store, add } = open()
    const ruleId = add('one')
    store.addEvent(ruleId, EVENT)
    const [event] = store.due(FAR)
    store.setDelivered(event!, 200)
    store.setFailed(event!, { status: undefined, error: 'timed out' }, FAR)
    expect(store.deliveries(ruleId, undefined, 1)[0]).toMatchObject({
      state: 'delivered',
      attempts: 1,
      status: 200,
      error: undefined,
    })
    expect(store.find(ruleId)!.error).toBeUndefined()
  })
})
