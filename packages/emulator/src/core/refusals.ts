import type { VenueId } from '@priorbook/sdk/domain'
import type { Refusal, UpstreamAnswer } from './upstream.ts'

/** The default refusal of a venue, where its upstream has none of its own. */
export function refusalOf(venue: VenueId, why: Refusal): UpstreamAnswer {
  const [status, body] = ANSWERS[venue][why]
  return { status, body: typeof body === 'string' ? body : JSON.stringify(body), cost: 0 }
}

const ANSWERS: Readonly<Record<VenueId, Readonly<Record<Refusal, readonly [number, unknown]>>>> = {
  venuea: {
    quota: [429, { code: -1003, msg: 'Too many requests; current limit is 60 per minute.' }],
    outage: [503, { code: -1001, msg: 'Internal error; unable to process your request.' }],
    signature: [
      401,
      { code: -1021, msg: 'Timestamp for this request is outside of the recvWindow.' },
    ],
  },
  venueb: {
    quota: [429, { error: 'too many requests' }],
    outage: [
      503,
      {
        error: { code: 'service_unavailable', message: 'service unavailable', service: 'gateway' },
      },
    ],
    signature: [
      401,
      {
        error: {
          code: 'unauthorized',
          message: 'unauthorized',
          details: 'header_timestamp_expired',
          service: 'auth',
        },
      },
    ],
  },
  venuec: {
    quota: [429, '<html><head><title>429 Too Many Requests</title></head></html>'],
    outage: [503, '<html><head><title>503 Service Temporarily Unavailable</title></head></html>'],
    signature: [401, { error: 'Unauthorized/Invalid api key' }],
  },
}
