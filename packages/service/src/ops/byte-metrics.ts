import type { ServiceStatus } from './status.ts'

/** Metrics of what is stored, by kind, in the form of `metrics.ts`. */
export const BYTE_METRICS: readonly (readonly [
  name: string,
  help: string,
  read: (
    status: ServiceStatus,
  ) => number | undefined | readonly (readonly [value: number, ...labels: string[]])[],
  ...labels: string[],
])[] = [
  [
    'disk_kind_bytes',
    'Bytes of the installation by kind: raw, archived, tape, packed, index, elsewhere.',
    ({ bytes }) => Object.entries(bytes?.bytes ?? {}).map(([kind, size]) => [size, kind] as const),
    'kind',
  ],
  [
    'disk_observations',
    'Book rows in chunks, here or in other storage.',
    ({ bytes }) => bytes?.observations,
  ],
  [
    'disk_bytes_per_observation',
    'Bytes of all kinds together for one book row.',
    ({ bytes }) => bytes?.bytesPerObservation,
  ],
]
