import { generateKeyPairSync } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { VENUE_IDS, type VenueId } from '@priorbook/sdk/domain'
import { describe, expect, test, type TestContext } from 'vitest'
import { openEmbeddedStore } from '../../packages/service/src/store/embedded/open.ts'
import { createEmulatedHome, type EmulatedHome } from './emulated-home.ts'
import { until, writeKey, type RecorderProcess } from './recorder-process.ts'

const RATES = { changes: 5, trades: 1, pauses: 0 }
const RECORDING_MS = 30_000

/** Waits until these venues have rows and the recorder has said what it says of the others. */
function untilRecording(recorder: RecorderProcess, venues: readonly VenueId[]): Promise<true> {
  return until(`rows of ${venues.join(' and ')}`, RECORDING_MS, async () => {
    const states = (await recorder.status()).recorder!.venues
    return venues.every((venue) => states[venue]!.counts.observations > 15) ? true : undefined
  })
}

/** Everything that was logged of one venue as a warning of its credentials or as an error. */
function saidOf(recorder: RecorderProcess, name: 'A' | 'B'): string[] {
  const said = recorder.logs.filter(
    ({ level, msg }) => level >= 50 || (level >= 40 && msg.includes('credentials')),
  )
  return said.flatMap(({ msg }) => (msg.includes(`venue ${name}`) ? msg : []))
}

async function statesOf(recorder: RecorderProcess): Promise<Record<VenueId, string>> {
  const { venues } = (await recorder.status()).recorder!
  const states = Object.entries(venues).map(([venue, { connector }]) => [venue, connector.state])
  return Object.fromEntries(states) as Record<VenueId, string>
}

/** Ends the recorder in order and counts what it kept. */
async function rowsAfter(
  context: TestContext,
  { data }: EmulatedHome,
  recorder: RecorderProcess,
): Promise<Record<VenueId, number>> {
  expect(await recorder.end('SIGTERM')).toBe(0)
  expect(recorder.noise).toEqual([])
  const store = openEmbeddedStore({ file: data.tape, readOnly: true })
  context.onTestFinished(() => store.close())
  const rows = Object.fromEntries(VENUE_IDS.map((id) => [id, 0])) as Record<VenueId, number>
  for (const { instrument, lastSequence } of await store.instruments()) {
    rows[instrument.venue] += lastSequence
  }
  expect((await store.verify()).problems).toEqual([])
  return rows
}

describe.concurrent('credentials of venues A and B', () => {
  test('that are missing are named once each; B is polled and C is recorded', async (context) => {
    const place = await createEmulatedHome(context, { seed: 51, rates: RATES })
    const recorder = await place.startRecorder({
      PRIORBOOK_VENUEA_API_KEY: '',
      PRIORBOOK_VENUEA_API_SECRET: '',
      PRIORBOOK_VENUEB_KEY_ID: '',
      PRIORBOOK_VENUEB_PRIVATE_KEY_FILE: '',
    })
    await untilRecording(recorder, ['venueb', 'venuec'])
    expect(await statesOf(recorder)).toEqual({
      venuea: 'no_credentials',
      venueb: 'no_credentials',
      venuec: 'recording',
    })
    expect(saidOf(recorder, 'A')).toEqual([
      'venue A is not recorded: no API key or no secret is configured',
    ])
    expect(saidOf(recorder, 'B')).toEqual([
      'no credentials for venue B: books and trades are polled under the quota',
    ])
    // Nothing is asked of a venue that would refuse it.
    expect(place.emulator.quotaPeaks().venuea!['default']!.requests).toBe(0)
    expect(await rowsAfter(context, place, recorder)).toMatchObject({ venuea: 0 })
  })

  test('that are refused are named once each, however often they are tried', async (context) => {
    const place = await createEmulatedHome(context, { seed: 52, rates: RATES })
    const { privateKey } = generateKeyPairSync('rsa', {
      modulusLength: 2048,
      publicKeyEncoding: { type: 'spki', format: 'pem' },
      privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
    })
    const secret = 'canary'.repeat(10)
    const recorder = await place.startRecorder({
      PRIORBOOK_VENUEA_API_SECRET: secret,
      PRIORBOOK_VENUEB_PRIVATE_KEY_FILE: writeKey(place.home, 'other.pem', privateKey),
    })
    await untilRecording(recorder, ['venueb', 'venuec'])
    const refusals = (): number =>
      place.emulator.truth.entries.filter(
        (entry) => entry.type === 'connection' && entry.state === 'refused',
      ).length
    await until('a second attempt', RECORDING_MS, () => (refusals() >= 2 ? true : undefined))
    await pause(200)
    expect(await statesOf(recorder)).toEqual({
      venuea: 'no_credentials',
      venueb: 'no_credentials',
      venuec: 'recording',
    })
    expect(saidOf(recorder, 'A')).toEqual(['venue A refuses the credentials; trying again slowly'])
    expect(saidOf(recorder, 'B')).toEqual([
      'venue B refused the credentials: books and trades are polled under the quota',
    ])
    const logged = JSON.stringify(recorder.logs)
    expect(logged).not.toContain(secret)
    expect(logged).not.toContain(privateKey.split('\n')[1])
    // A little is asked now and then, to find out whether they are good again.
    expect(place.emulator.quotaPeaks().venuea!['default']!.requests).toBeLessThan(5)
    expect(await rowsAfter(context, place, recorder)).toMatchObject({ venuea: 0 })
  })

  test('of B that are no key are named once; A and C are recorded, B is polled', async (context) => {
    const place = await createEmulatedHome(context, { seed: 53, rates: RATES })
    const recorder = await place.startRecorder({
      PRIORBOOK_VENUEB_PRIVATE_KEY_FILE: writeKey(place.home, 'other.pem', 'no key at all'),
    })
    await untilRecording(recorder, ['venuea', 'venueb', 'venuec'])
    expect(await statesOf(recorder)).toEqual({
      venuea: 'recording',
      venueb: 'no_credentials',
      venuec: 'recording',
    })
    expect(saidOf(recorder, 'A')).toEqual([])
    expect(saidOf(recorder, 'B')).toEqual([
      'the private key of venue B is not PEM text: books and trades are polled under the quota',
    ])
    const rows = await rowsAfter(context, place, recorder)
    expect(Math.min(rows.venuea, rows.venueb, rows.venuec)).toBeGreaterThan(0)
  })

  test('of B in a file that is not there are a mistake that is named at once', async (context) => {
    const place = await createEmulatedHome(context, { seed: 54 })
    const file = join(place.home, 'nowhere.pem')
    const recorder = await place.startRecorder({ PRIORBOOK_VENUEB_PRIVATE_KEY_FILE: file })
    expect(await recorder.ended).toBe(1)
    const [line = '', ...more] = recorder.noise
    expect(line).toContain(`venueb.privateKeyFile: ${file} cannot be read (invalid_config)`)
    expect(more).toEqual([])
  })
})
