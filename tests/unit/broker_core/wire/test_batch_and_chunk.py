"""The fields of batches and chunks, read without the rest of the metadata."""

from hypothesis import given
from hypothesis import strategies as st

from broker_core.wire.batch_and_chunk import FIELDS, batch_and_chunk
from broker_core.wire.message import build_entry, messages_in_batch
from broker_core.wire.pulsar_api_pb2 import MessageMetadata

INT = st.integers(-(2**31), 2**31 - 1)


@given(
    st.fixed_dictionaries(
        {}, optional={"num_messages_in_batch": INT, "uuid": st.text(), "num_chunks_from_msg": INT, "chunk_id": INT}
    ),
    st.integers(0, 50),
)
def test_the_fields_are_those_of_the_whole_metadata(fields: dict[str, int | str], properties: int) -> None:
    metadata = MessageMetadata(producer_name="p", sequence_id=1, publish_time=2, **fields)  # type: ignore[arg-type]  # by name
    for number in range(properties):
        metadata.properties.add(key=f"k{number}", value="v")
    read = batch_and_chunk(metadata.SerializeToString())
    assert read is not None
    assert {name: getattr(read, name) for name in FIELDS if read.HasField(name)} == fields
    batch = fields.get("num_messages_in_batch", 0)
    assert messages_in_batch(build_entry(metadata, b"")) == (batch if isinstance(batch, int) and batch > 0 else 0)


def test_what_is_not_metadata_has_no_fields() -> None:
    assert batch_and_chunk(b"\xff\xff") is None
