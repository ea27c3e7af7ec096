import { useQuery } from "@tanstack/react-query"
import { formatBytes } from "../../../../domain/formatBytes.ts"
import { formatNumber } from "../../text/format.ts"
import { Card } from "../../ui/Card.tsx"
import { Loaded } from "../../ui/Loaded.tsx"
import { Meter } from "../../ui/Meter.tsx"
import { storageQuery } from "./fileQueries.ts"

/** The share of the permitted storage that the user's files take. */
export const StorageCard = () => (
  <Card title="Storage">
    <Loaded query={useQuery(storageQuery)}>
      {({ file_bytes_max: fileBytesMax, permitted, used }) => (
        <div className="space-y-3">
          <Meter label="Storage used" limit={permitted.bytes} reserved={0} used={used.bytes} />
          <p>
            {formatBytes(used.bytes)} of {formatBytes(permitted.bytes)}, and {formatNumber(used.files)} of{" "}
            {formatNumber(permitted.files)} files. One file may have {formatBytes(fileBytesMax)}.
          </p>
          {used.bytes >= permitted.bytes || used.files >= permitted.files ? (
            <p className="text-danger">
              Nothing more can be uploaded. Delete files that you don&apos;t need.
            </p>
          ) : null}
        </div>
      )}
    </Loaded>
  </Card>
)
