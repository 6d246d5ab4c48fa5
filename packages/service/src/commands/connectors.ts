import { readFileSync } from 'node:fs'
import { PriorbookError } from '@priorbook/sdk/domain'
import type { Config } from '../config/index.ts'
import type { RecorderOptions } from '../recorder/recorder.ts'
import { createVenueAConnector } from '../venues/venuea/index.ts'
import { createVenueBConnector } from '../venues/venueb/index.ts'
import { createVenueCConnector } from '../venues/venuec/index.ts'
import type { EmulatedAddresses } from './emulated.ts'

// Sliding windows of ten seconds that the venue publishes: Gamma /markets 300, CLOB /book 1,500.
const GAMMA_QUOTA = { limit: 300, windowMs: 10_000 }
const CLOB_QUOTA = { limit: 1500, windowMs: 10_000 }
const COST_PER_REQUEST = 10
// The series that the emulator plays.
const EMULATED_SERIES = ['KXBTC15M', 'KXETH15M', 'KXBTCD', 'KXETHD']

/** The connectors that the configuration asks for, at the real venues or at the emulator's. */
export function toConnectors(
  config: Config,
  emulated: EmulatedAddresses | undefined,
): RecorderOptions['connectors'] {
  const speed = emulated === undefined ? 1 : config.emulator.speed
  const { venuea, venueb, venuec } = config
  return {
    ...(venuea.enabled && {
      venuea: (context) =>
        createVenueAConnector(
          {
            restBase: emulated?.venuea.rest ?? venuea.rest,
            wsUrl: emulated?.venuea.ws ?? venuea.ws,
            ...credentials('apiKey', emulated?.venuea.apiKey ?? venuea.apiKey),
            ...credentials('apiSecret', emulated?.venuea.apiSecret ?? venuea.apiSecret),
            assets: venuea.assets,
            quota: { limit: Math.floor(venuea.callsPerMinute * speed), windowMs: 60_000 },
            speed,
          },
          context,
        ),
    }),
    ...(venueb.enabled && {
      venueb: (context) =>
        createVenueBConnector(
          {
            restBase: emulated?.venueb.rest ?? venueb.rest,
            wsUrl: emulated?.venueb.ws ?? venueb.ws,
            ...credentials('keyId', emulated?.venueb.keyId ?? venueb.keyId),
            ...credentials(
              'privateKey',
              emulated?.venueb.privateKey ?? readKey(venueb.privateKeyFile),
            ),
            series: emulated === undefined ? venueb.series : EMULATED_SERIES,
            quota: {
              tokensPerSecond: Math.floor(venueb.tokensPerSecond * speed),
              costPerRequest: COST_PER_REQUEST,
            },
            speed,
          },
          context,
        ),
    }),
    ...(venuec.enabled && {
      venuec: (context) =>
        createVenueCConnector(
          {
            gammaBase: emulated?.venuec.gamma ?? venuec.gamma,
            clobBase: emulated?.venuec.clob ?? venuec.clob,
            wsUrl: emulated?.venuec.ws ?? venuec.ws,
            assets: venuec.assets,
            windows: venuec.windows,
            quotas: { gamma: scaled(GAMMA_QUOTA, speed), clob: scaled(CLOB_QUOTA, speed) },
            assetsPerSocket: 200,
            speed,
          },
          context,
        ),
    }),
  }
}

function scaled(quota: { limit: number; windowMs: number }, speed: number): typeof quota {
  return { ...quota, limit: Math.floor(quota.limit * speed) }
}

function credentials<Name extends string>(name: Name, value: string): { [Key in Name]?: string } {
  return value === '' ? {} : ({ [name]: value } as { [Key in Name]?: string })
}

function readKey(file: string): string {
  if (file === '') return ''
  try {
    return readFileSync(file, 'utf8')
  } catch (cause) {
    throw new PriorbookError('invalid_config', `venueb.privateKeyFile: ${file} cannot be read`, {
      cause,
    })
  }
}
