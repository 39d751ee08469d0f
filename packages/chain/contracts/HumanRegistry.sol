// SPDX-License-Identifier: Apache-2.0
pragma solidity ^0.8.24;

import {Ownable, Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {Base64} from "@openzeppelin/contracts/utils/Base64.sol";
import {P256} from "@openzeppelin/contracts/utils/cryptography/P256.sol";

/// @title Which wallets belong to a verified human
/// @notice The issuer signs a token that names a wallet and a code of its human (the nullifier). Anyone may bring it here.
/// One human has one wallet at a time, until the token expires. A token names one registry on one chain.
/// @dev The owner decides which keys are believed and whom to put out, and can bind nobody. In production it should be a
/// timelock or a multi-signature wallet: whoever adds a key can make humans. A new key is used after a delay, so that
/// everybody can see it before it makes any.
contract HumanRegistry is Ownable2Step {
    struct Key {
        bytes32 x;
        bytes32 y;
        uint40 notBefore;
        uint40 notAfter;
        bool revoked;
        bytes header;
    }
    /// @dev One storage slot. `key` is a number and not the 32 bytes of its id, so that it fits.
    struct Human {
        address wallet;
        uint40 iat;
        uint40 exp;
        uint16 key;
    }

    /// @notice Seconds from the announcement of a key to its first use.
    uint40 public immutable keyDelay;
    mapping(uint16 number => Key) public keys;
    /// @notice The number of a key, from 1; 0 is no key.
    mapping(bytes32 keyId => uint16) public numberOf;
    uint16 public keyCount;
    mapping(bytes32 nullifier => Human) public humans;
    /// @notice Tokens of this human that were issued up to then count for nothing.
    mapping(bytes32 nullifier => uint40) public revokedAt;
    mapping(address wallet => bytes32 nullifier) private _nullifierOf;

    event KeyAdded(bytes32 indexed keyId, uint40 notBefore, uint40 notAfter);
    event KeyRevoked(bytes32 indexed keyId);
    event Bound(bytes32 indexed nullifier, address indexed wallet, bytes32 indexed keyId, uint40 exp);
    event Unbound(bytes32 indexed nullifier, address indexed wallet);
    event Revoked(bytes32 indexed nullifier);

    error BadKey();
    error KeyKnown();
    error UnknownKey();
    error KeyIsRevoked();
    error KeyIsNew();
    error KeyIsOver();
    error BadSignature();
    error BadClaims();
    error WrongChain();
    error WrongRegistry();
    error Expired();
    error FromFuture();
    error Stale();
    error WalletTaken();

    constructor(address owner, uint40 delay) Ownable(owner) {
        keyDelay = delay;
    }

    /// @notice Announces a key of the issuer: it is believed after `keyDelay` and until `notAfter`. What it has bound by then
    /// lasts as long as each token says.
    /// @param header The protected header of its tokens in base64url. It is kept and never taken from a caller: no other
    /// algorithm, type or key can be slipped in.
    /// @return keyId The RFC 7638 thumbprint, which is the `kid` in the issuer's JWKS. It is computed here, so that a key
    /// cannot stand under the name of another.
    function addKey(bytes32 x, bytes32 y, uint40 notAfter, bytes calldata header) external onlyOwner returns (bytes32 keyId) {
        if (!P256.isValidPublicKey(x, y)) revert BadKey();
        keyId = sha256(
            abi.encodePacked(
                '{"crv":"P-256","kty":"EC","x":"',
                Base64.encodeURL(abi.encodePacked(x)),
                '","y":"',
                Base64.encodeURL(abi.encodePacked(y)),
                '"}'
            )
        );
        if (numberOf[keyId] != 0) revert KeyKnown();
        numberOf[keyId] = ++keyCount;
        uint40 notBefore = uint40(block.timestamp) + keyDelay;
        keys[keyCount] = Key(x, y, notBefore, notAfter, false, header);
        emit KeyAdded(keyId, notBefore, notAfter);
    }

    /// @notice For a key in wrong hands: it binds nothing more, and every wallet that it bound is out at once.
    function revokeKey(bytes32 keyId) external onlyOwner {
        uint16 number = numberOf[keyId];
        if (number == 0) revert UnknownKey();
        keys[number].revoked = true;
        emit KeyRevoked(keyId);
    }

    /// @notice Puts a human out. Only a token that the issuer signs afterwards lets them in again.
    function revoke(bytes32 nullifier) external onlyOwner {
        Human memory human = humans[nullifier];
        // A chain's clock may be behind the issuer's: the token that stands here is over in any case.
        revokedAt[nullifier] = human.iat > block.timestamp ? human.iat : uint40(block.timestamp);
        _release(nullifier, human.wallet);
        delete humans[nullifier];
        emit Revoked(nullifier);
    }

    /// @notice Binds the wallet in a token to its human. Who sends it does not matter: nothing in it can be changed.
    /// @param payload The second part of the token, in base64url as it was signed.
    function bind(bytes32 keyId, bytes calldata payload, bytes32 r, bytes32 s) external {
        uint16 number = numberOf[keyId];
        Key storage key = keys[number];
        if (number == 0) revert UnknownKey();
        if (key.revoked) revert KeyIsRevoked();
        if (block.timestamp < key.notBefore) revert KeyIsNew();
        if (block.timestamp > key.notAfter) revert KeyIsOver();
        // A JOSE signature may have either of the two values of s, and the library takes only the lower one.
        if (uint256(s) > P256.N / 2 && uint256(s) < P256.N) s = bytes32(P256.N - uint256(s));
        if (!P256.verify(sha256(abi.encodePacked(key.header, ".", payload)), r, s, key.x, key.y)) revert BadSignature();

        (bytes32 nullifier, Human memory human) = _read(payload);
        human.key = number;
        Human memory known = humans[nullifier];
        if (human.exp <= block.timestamp) revert Expired();
        // Clocks differ a little; more than that would outdate every later token of this human.
        if (human.iat > block.timestamp + 1 hours) revert FromFuture();
        // A thief's token must not outdate the true ones, so what a revoked key has bound does not count. What
        // the owner revoked counts always, or a stolen key could bring old tokens back.
        if (human.iat <= revokedAt[nullifier]) revert Stale();
        if (human.iat <= known.iat && !keys[known.key].revoked) revert Stale();
        bytes32 holder = humanOf(human.wallet);
        if (holder != 0 && holder != nullifier) revert WalletTaken();

        if (known.wallet != human.wallet) _release(nullifier, known.wallet);
        humans[nullifier] = human;
        _nullifierOf[human.wallet] = nullifier;
        emit Bound(nullifier, human.wallet, keyId, human.exp);
    }

    /// @notice Whether a wallet belongs to a verified human now.
    function isVerifiedHuman(address wallet) external view returns (bool) {
        return humanOf(wallet) != 0;
    }

    /// @notice The code of the human behind a wallet, or 0. It stays the same when the human moves to another wallet: count
    /// by it where one human has one vote.
    function humanOf(address wallet) public view returns (bytes32 nullifier) {
        nullifier = _nullifierOf[wallet];
        Human memory human = humans[nullifier];
        if (human.exp <= block.timestamp || keys[human.key].revoked) return 0;
    }

    /// @dev A dead record may name a wallet that another human has taken since: that one stays.
    function _release(bytes32 nullifier, address wallet) private {
        if (wallet == address(0) || _nullifierOf[wallet] != nullifier) return;
        delete _nullifierOf[wallet];
        emit Unbound(nullifier, wallet);
    }

    /// @dev The issuer writes these claims first, in this order and with these lengths, so nothing has to be searched for:
    /// {"wallet":"0x<40>","nul":"0x<64>","iat":<10>,"exp":<10>,"registry":"0x<40>","chain":<id>,
    /// A token for another registry, or for this address on another chain, counts for nothing here.
    function _read(bytes calldata payload) private view returns (bytes32 nullifier, Human memory human) {
        // 328 characters are 246 bytes: room for a chain id of 16 digits.
        bytes memory text = Base64.decode(string(payload.length > 328 ? payload[:328] : payload));
        if (
            text.length < 230 ||
            bytes13(_word(text, 0)) != '{"wallet":"0x' ||
            bytes11(_word(text, 53)) != '","nul":"0x' ||
            bytes8(_word(text, 128)) != '","iat":' ||
            bytes7(_word(text, 146)) != ',"exp":' ||
            bytes15(_word(text, 163)) != ',"registry":"0x' ||
            bytes10(_word(text, 218)) != '","chain":'
        ) revert BadClaims();
        human.wallet = address(uint160(_number(text, 13, 40, 16)));
        nullifier = bytes32(_number(text, 64, 64, 16));
        human.iat = uint40(_number(text, 136, 10, 10));
        human.exp = uint40(_number(text, 153, 10, 10));
        if (nullifier == 0) revert BadClaims();
        uint256 end = 228;
        while (end < text.length && text[end] != ",") end++;
        if (_number(text, 228, end - 228, 10) != block.chainid) revert WrongChain();
        if (_number(text, 178, 40, 16) != uint160(address(this))) revert WrongRegistry();
    }

    function _word(bytes memory text, uint256 at) private pure returns (bytes32 word) {
        assembly ("memory-safe") {
            word := mload(add(add(text, 32), at))
        }
    }

    function _number(bytes memory text, uint256 at, uint256 length, uint256 base) private pure returns (uint256 value) {
        unchecked {
            for (uint256 end = at + length; at < end; at++) {
                uint256 digit = uint256(uint8(bytes1(_word(text, at))));
                digit = digit > 96 ? digit - 87 : digit < 58 ? digit - 48 : base;
                if (digit >= base) revert BadClaims();
                value = value * base + digit;
            }
        }
    }
}
