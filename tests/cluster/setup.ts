import { installPatroni } from './patroni.ts'
import { installPostgres } from './postgres.ts'
import { installRedis } from './redis.ts'
import { installSeaweedFs } from './seaweedfs.ts'

/**
 * Before the tests of the cluster: installs every program that one of them starts. Two files run at a time, and two
 * installations of Debian's packages at a time fail.
 */
export function setup(): void {
  installPostgres()
  installPatroni()
  installRedis()
  installSeaweedFs()
}
