// SPDX-License-Identifier: MIT OR Apache-2.0
pragma solidity 0.8.37;

/// A contract that decides which signatures are its own (ERC-1271).
interface Signing {
    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4);
}

/// A token for tests, of which anybody can make some. It has the part of USDC that x402 uses: transfers that the payer
/// signs (EIP-3009), with both forms of a signature.
contract Token {
    string public constant name = "USD Coin";
    string public constant version = "2";
    string public constant symbol = "USDC";
    uint8 public constant decimals = 6;

    bytes32 private constant DOMAIN =
        keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)");
    bytes32 private constant TRANSFER = keccak256(
        "TransferWithAuthorization(address from,address to,uint256 value,uint256 validAfter,uint256 validBefore,bytes32 nonce)"
    );
    /// Signatures with a higher `s` have a twin with a lower one.
    uint256 private constant MAX_S = 0x7FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF5D576E7357A4501DDFE92F46681B20A0;

    mapping(address => uint256) public balanceOf;
    /// True if the payer has used the nonce.
    mapping(address => mapping(bytes32 => bool)) public authorizationState;

    event Transfer(address indexed from, address indexed to, uint256 value);
    event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce);

    function DOMAIN_SEPARATOR() public view returns (bytes32) {
        return keccak256(
            abi.encode(DOMAIN, keccak256(bytes(name)), keccak256(bytes(version)), block.chainid, address(this))
        );
    }

    function mint(address to, uint256 value) external {
        balanceOf[to] += value;
        emit Transfer(address(0), to, value);
    }

    function transfer(address to, uint256 value) external returns (bool) {
        move(msg.sender, to, value);
        return true;
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        uint8 v,
        bytes32 r,
        bytes32 s
    ) external {
        carryOut(from, to, value, validAfter, validBefore, nonce, abi.encodePacked(r, s, v));
    }

    function transferWithAuthorization(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes calldata signature
    ) external {
        carryOut(from, to, value, validAfter, validBefore, nonce, signature);
    }

    function carryOut(
        address from,
        address to,
        uint256 value,
        uint256 validAfter,
        uint256 validBefore,
        bytes32 nonce,
        bytes memory signature
    ) private {
        require(block.timestamp > validAfter, "Token: authorization is not yet valid");
        require(block.timestamp < validBefore, "Token: authorization is expired");
        require(!authorizationState[from][nonce], "Token: authorization is used or canceled");
        bytes32 content = keccak256(abi.encode(TRANSFER, from, to, value, validAfter, validBefore, nonce));
        bytes32 digest = keccak256(abi.encodePacked("\x19\x01", DOMAIN_SEPARATOR(), content));
        require(isSigned(from, digest, signature), "Token: invalid signature");
        authorizationState[from][nonce] = true;
        emit AuthorizationUsed(from, nonce);
        move(from, to, value);
    }

    function isSigned(address from, bytes32 digest, bytes memory signature) private view returns (bool) {
        if (from.code.length > 0) {
            return Signing(from).isValidSignature(digest, signature) == Signing.isValidSignature.selector;
        }
        return from != address(0) && signer(digest, signature) == from;
    }

    function move(address from, address to, uint256 value) private {
        require(to != address(0), "Token: transfer to the zero address");
        require(balanceOf[from] >= value, "Token: transfer amount exceeds balance");
        balanceOf[from] -= value;
        balanceOf[to] += value;
        emit Transfer(from, to, value);
    }

    function signer(bytes32 digest, bytes memory signature) private pure returns (address) {
        if (signature.length != 65) return address(0);
        bytes32 r;
        bytes32 s;
        uint8 v;
        assembly {
            r := mload(add(signature, 32))
            s := mload(add(signature, 64))
            v := byte(0, mload(add(signature, 96)))
        }
        return uint256(s) > MAX_S ? address(0) : ecrecover(digest, v, r, s);
    }
}

/// A wallet that is a contract: its signatures are those of its owner, and one byte more.
contract Wallet is Signing {
    address private immutable owner;

    constructor(address owner_) {
        owner = owner_;
    }

    function isValidSignature(bytes32 digest, bytes calldata signature) external view returns (bytes4) {
        if (signature.length != 66) return 0xffffffff;
        bytes32 r = bytes32(signature[0:32]);
        bytes32 s = bytes32(signature[32:64]);
        bool isOwner = ecrecover(digest, uint8(signature[64]), r, s) == owner && owner != address(0);
        return isOwner ? this.isValidSignature.selector : bytes4(0xffffffff);
    }
}

/// The function of Multicall3 by which a facilitator finds the reason of a failure. All public chains have that
/// contract, and the chain of the test gets this one at its address.
contract Calls {
    struct Call {
        address target;
        bytes callData;
    }

    struct Result {
        bool success;
        bytes returnData;
    }

    function tryAggregate(bool requireSuccess, Call[] calldata calls) external payable returns (Result[] memory results) {
        results = new Result[](calls.length);
        for (uint256 i = 0; i < calls.length; i++) {
            (bool success, bytes memory returnData) = calls[i].target.call(calls[i].callData);
            require(success || !requireSuccess, "Calls: a call failed");
            results[i] = Result(success, returnData);
        }
    }
}
